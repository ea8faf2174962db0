// One GPU, opened: a driver, a context of that driver, and the executor whose clock and threads serve it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate {

namespace driver {
class Driver;
}
namespace base {
class Executor;
}

// Memory of one process that its system pages.
struct Demotion {
  Bytes demoted = 0;  // should be in VRAM and is not (D3DKMT: PROCESS_SEGMENT_GROUP, Demoted)
  Bytes evicted = 0;  // was ever moved out; only grows (D3DKMT: PROCESS_ADAPTER, TotalBytesEvictedFromProcess)
};

// Owns what it was opened with. Outlives every Pager made on it. Thread-safe after open.
class Card {
 public:
  virtual ~Card() = default;
  virtual driver::Driver& driver() = 0;
  virtual base::Executor& executor() = 0;
  virtual const std::string& name() const = 0;  // "NVIDIA H200", "rtx3050-6g-linux"
  virtual bool simulated() const = 0;
  virtual int device() const = 0;         // the driver's ordinal
  virtual Bytes total_bytes() const = 0;  // what the driver lets a process use, all processes together

  // Whether the system may page this process's device memory out behind the program's back (WDDM does): how frames
  // leave depends on it (I2).
  virtual bool paged_by_system() const { return false; }
  // What the system has taken out of VRAM of this process; nothing where it does not tell. Takes microseconds and
  // submits nothing.
  virtual std::optional<Demotion> demotion() { return std::nullopt; }

  // Makes the card's context current on the calling thread: once per thread that uses a Pager or launches work.
  virtual Result<void> make_current() = 0;
};

// The real card with this ordinal, through libcuda.so.1 and its primary context, so that other users of CUDA in this
// process (PyTorch, say) share it. Errors: kNoDriver, kDriverTooOld, kNoDevice, kInvalidArgument (ordinal), kDriver.
Result<std::unique_ptr<Card>> open_cuda_card(int ordinal = 0);

}  // namespace tidegate
