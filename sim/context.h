// What a context owns, as plain data: streams, events, modules, captures. The process's driver gives it behaviour.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/op.h"

namespace tidegate::sim {

class Process;

struct Context {
  std::uint64_t handle = 0;
  Process* process = nullptr;
  int card = 0;
  bool primary = false;
  unsigned references = 0;  // of a primary context
  Holding holding;
  cu::Status sticky = cu::kSuccess;
  std::size_t pending = 0;  // submitted operations that are not done
  std::shared_ptr<Stream> default_stream;
  // The streams that were created, destroyed ones too until their work is done.
  std::vector<std::shared_ptr<Stream>> streams;
  VectorClock retired;  // of streams that are gone
};

struct EventObject {
  std::uint64_t context = 0;
  bool timing = true;
  std::shared_ptr<Op> record;  // the latest record, null if never recorded
  std::uint64_t capture = 0;   // recorded last in this capture, or 0
  VectorClock capture_clock;
};

struct FunctionObject {
  std::uint64_t module = 0;
  KernelId kernel = KernelId::kChecksum;
};

struct ModuleObject {
  std::uint64_t context = 0;
  std::map<std::string, std::uint64_t> functions;  // entry name to handle
};

// A stream capture in progress. Operations are counted, not kept: nothing replays them.
struct Capture {
  std::uint64_t origin = 0;  // stream
  std::uint64_t thread = 0;  // that began it
  cu::CaptureMode mode = cu::kCaptureGlobal;
  bool invalidated = false;
  std::uint64_t nodes = 0;
  std::vector<std::shared_ptr<Stream>> members;
  std::vector<VectorClock> clocks;  // per member, over members: what each has joined
};

}  // namespace tidegate::sim
