// A memory manager on trial, driven in ComfyUI's order of calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bench/trial/needs.h"
#include "bench/trial/pins.h"

namespace tidegate::trial {

// What a contestant counted itself; the simulated card counts the calls.
struct Tally {
  std::uint64_t asked = 0;                    // modules asked for
  std::uint64_t present = 0;                  // that were there
  std::uint64_t streamed = 0;                 // that found no place of their own and came through a buffer
  std::uint64_t failures = 0;                 // answers that end the node
  std::map<std::string, std::uint64_t> said;  // lines of its log by level
};

class Contestant {
 public:
  virtual ~Contestant() = default;
  // What the program does when a model is asked for: before each node.
  virtual void load(const Node& node) = 0;
  virtual void begin_pass(const Node&) {}
  // Brings a group's modules in; false: the node ends here.
  virtual bool begin_group(const Node&, const Group&) { return true; }
  // Where a module's weights are, for work that is now submitted to the compute stream; 0: the node ends here.
  virtual driver::DevicePtr begin_use(const Node& node, const Use& use) = 0;
  virtual void end_use(const Node&, const Use&) {}
  virtual void end_group(const Node&, const Group&) {}
  virtual void end_pass(const Node&) {}
  virtual void end_node(const Node&) {}
  const Tally& tally() const { return tally_; }

 protected:
  Tally tally_;
};

struct Setting {
  const Needs& needs;
  Gpu& gpu;
  Pins& pins;
};

// `library`: the peer's native library. `graph`: record allocations where the peer can (ComfyUI's default from 0.5 on).
// `aloud`: its log goes to stderr.
std::unique_ptr<Contestant> make_aimdo(const Setting& setting, const std::string& library, bool graph, bool aloud);
// A stand-in for --disable-dynamic-vram: what fits stays, the rest is copied at each use.
std::unique_ptr<Contestant> make_static(const Setting& setting);
std::unique_ptr<Contestant> make_tidegate(const Setting& setting);

}  // namespace tidegate::trial
