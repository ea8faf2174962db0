// One GPU, opened: a driver, a context of that driver, and the executor whose clock and threads serve it.
#pragma once

#include <cstdint>
#include <memory>
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

  // Makes the card's context current on the calling thread: once per thread that uses a Pager or launches work.
  virtual Result<void> make_current() = 0;
};

// The real card with this ordinal, through libcuda.so.1 and its primary context, so that other users of CUDA in this
// process (PyTorch, say) share it. Errors: kNoDriver, kDriverTooOld, kNoDevice, kInvalidArgument (ordinal), kDriver.
Result<std::unique_ptr<Card>> open_cuda_card(int ordinal = 0);

}  // namespace tidegate
