// The driver as a program that knows nothing of Tidegate uses it: for what probes, holds and looks.
#pragma once

#include <memory>
#include <vector>

#include "src/driver/driver.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::cli {

// By cuMemAlloc, or by cuMemCreate and a mapping.
enum class Way { kAlloc, kVmm };

// One thread.
class RawCard {
 public:
  RawCard() = default;
  RawCard(const RawCard&) = delete;
  RawCard& operator=(const RawCard&) = delete;
  ~RawCard();

  // Loads the driver; no context. Errors: as load_cuda_driver, kInvalidArgument.
  Result<void> load(int ordinal);
  // The card's primary context, current on this thread. Errors: kDriver.
  Result<void> enter();
  driver::Driver& driver() { return *driver_; }
  cu::Device device() const { return device_; }

  // Rounded up to 2 MiB. All of it, or an error and nothing: kOutOfMemory, kDriver.
  Result<void> take(Bytes bytes, Way way);
  // Writes all that was taken, and waits until that is done.
  Result<void> touch();
  void give();  // all that was taken
  Result<Bytes> free_bytes();

 private:
  struct Piece {
    cu::DevicePtr at = 0;
    Bytes bytes = 0;
    cu::MemHandle handle = 0;  // 0: of cuMemAlloc
  };
  Result<Piece> map(Bytes bytes);

  std::unique_ptr<driver::Driver> driver_;
  cu::Device device_ = 0;
  cu::Context context_ = nullptr;
  std::vector<Piece> pieces_;
};

// Nanoseconds on the card's clock where the card is simulated, else on the wall's.
long long time_on_card();

}  // namespace tidegate::cli
