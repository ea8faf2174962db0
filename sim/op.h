// Operations and the streams they wait in.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/physical.h"
#include "src/base/executor.h"

namespace tidegate::sim {

struct Context;
struct Stream;
class MemPool;

enum class OpKind : std::uint8_t { kCopyH2D, kCopyD2H, kCopyD2D, kFill, kKernel, kRecord, kWait, kReset };
// kBeside: kernels that do not fill the card run beside everything else, any number of them at once.
// kNone: takes no time.
enum class EngineKind : std::uint8_t { kCompute, kH2D, kD2H, kBeside, kNone };
inline constexpr std::size_t kEngineCount = 3;  // those that serve one operation at a time
enum class KernelId : std::uint8_t { kChecksum, kWork };

const char* name_of(OpKind kind);
const char* name_of(EngineKind kind);

// One operation on a stream. `done` also means dropped: its context failed or its process died (then `failed`).
struct Op {
  OpKind kind = OpKind::kRecord;
  EngineKind engine = EngineKind::kNone;
  std::uint64_t seq = 0;
  std::shared_ptr<Stream> stream;

  // Timeline.
  base::Nanos ready = 0;
  base::Nanos duration = 0;
  base::Nanos finished_at = 0;
  unsigned waits_for = 0;  // operations that must be done first
  bool started = false;
  bool done = false;
  bool failed = false;
  std::vector<std::shared_ptr<Op>> dependents;

  // Order, for the detector: kRecord keeps the stream's clock as it was.
  Stamp stamp;
  VectorClock clock;

  // Effect.
  std::vector<Span> source;        // device memory read
  std::vector<Span> destination;   // device memory written
  std::vector<Piece> host_source;  // kCopyH2D: what the host range holds, pointers into host memory
  unsigned char* host_destination = nullptr;
  const void* host_begin = nullptr;  // the host range of a copy, for HOST-FREE
  Bytes bytes = 0;
  unsigned char fill = 0;
  KernelId kernel = KernelId::kChecksum;
  std::uint64_t result = 0;         // kKernel checksum: what it will add
  cu::Status fault = cu::kSuccess;  // raised when the operation starts
  std::string fault_text;           // empty: already reported
  std::uint64_t call_index = 0;     // the call that submitted it
};

struct Stream {
  std::uint64_t handle = 0;  // 0: the legacy default stream
  Context* context = nullptr;
  bool blocking = true;  // takes part in the default stream's order
  bool destroyed = false;
  std::uint32_t slot = 0;          // in vector clocks
  VectorClock clock;               // what the next operation on this stream is ordered after
  Epoch epoch = 0;                 // of the last operation
  std::uint64_t host_version = 0;  // of the host clock last joined
  std::deque<std::shared_ptr<Op>> pending;
  std::uint64_t capture = 0;  // id of the capture it takes part in, or 0

  Op* last() const { return pending.empty() ? nullptr : pending.back().get(); }
};

}  // namespace tidegate::sim
