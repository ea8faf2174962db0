// The trace of needs: what a workflow asks of a memory manager, in order, whichever manager that is. Made from a
// workflow file alone; every contestant of the trial gets the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/workflow.h"
#include "tidegate/bytes.h"

namespace tidegate::trial {

// One module in ComfyUI's sense: the parameters that are brought in together (a linear layer's weight and bias).
struct Module {
  std::string name;
  Bytes bytes = 0;              // each tensor rounded up to 512
  Bytes order = 0;              // what ComfyUI's list of modules is sorted by: bytes, and those of a cast copy
  bool loaded_at_once = false;  // small, or parameters beside submodules: brought in when the model is loaded, to stay
};

struct Use {
  std::size_t module = 0;
  std::uint64_t work_ns = 0;  // of the card
  Bytes output = 0;           // a temporary that the use makes and that the next but one still reads
  Bytes cast = 0;             // a temporary for this use alone: an fp8 weight in bf16
};

// Uses that are prepared together: a transformer block of a sampling model, else one use.
struct Group {
  std::size_t first = 0;
  std::size_t count = 1;
  std::string scope;  // "transformer_blocks" of a block; empty: none
};

struct Model {
  std::string name;
  std::vector<Module> modules;  // in order of first use
  Bytes bytes = 0;
};

// A step of the workflow: one node of ComfyUI's graph.
struct Node {
  std::string label;
  std::size_t model = 0;
  std::uint32_t passes = 1;
  bool samples = false;   // a sampler's node: ends its prompt
  std::vector<Use> uses;  // one pass
  std::vector<Group> groups;
  Bytes peak_temporaries = 0;
};

struct Needs {
  std::vector<Model> models;
  std::vector<Node> nodes;
};

// `flops_per_second`: the card's, for the workflow's FLOPs. `passes`: at most so many of each step; 0: all.
Needs needs_of(const cli::Workflow& workflow, double flops_per_second, std::uint32_t passes = 0);

}  // namespace tidegate::trial
