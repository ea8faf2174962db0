// The real card: the driver's library, the device's primary context, threads.
#include <cstddef>
#include <string>
#include <utility>

#include "src/base/thread_executor.h"
#include "src/driver/cuda_driver.h"
#include "src/driver/errors.h"
#include "tidegate/card.h"

namespace tidegate {
namespace {

constexpr int kLongestName = 256;

class CudaCard final : public Card {
 public:
  CudaCard(std::unique_ptr<driver::Driver> driver, int ordinal) : driver_(std::move(driver)), ordinal_(ordinal) {}
  CudaCard(const CudaCard&) = delete;
  CudaCard& operator=(const CudaCard&) = delete;
  ~CudaCard() override {
    if (context_ != nullptr) (void)driver_->device_primary_ctx_release(device_);
  }

  // First the questions, then the context: it is the only thing to be given back.
  Result<void> open() {
    char name[kLongestName] = {};
    std::size_t total = 0;
    driver::Status status = driver_->device_get(&device_, ordinal_);
    if (status != driver::kSuccess) return driver::driver_error(*driver_, status, "cuDeviceGet");
    status = driver_->device_get_name(name, kLongestName - 1, device_);
    if (status != driver::kSuccess) return driver::driver_error(*driver_, status, "cuDeviceGetName");
    status = driver_->device_total_mem(&total, device_);
    if (status != driver::kSuccess) return driver::driver_error(*driver_, status, "cuDeviceTotalMem");
    status = driver_->device_primary_ctx_retain(&context_, device_);
    if (status != driver::kSuccess) {
      context_ = nullptr;
      return driver::driver_error(*driver_, status, "cuDevicePrimaryCtxRetain");
    }
    name_ = name;
    total_ = total;
    return make_current();
  }

  driver::Driver& driver() override { return *driver_; }
  base::Executor& executor() override { return executor_; }
  const std::string& name() const override { return name_; }
  bool simulated() const override { return false; }
  int device() const override { return ordinal_; }
  Bytes total_bytes() const override { return total_; }

  Result<void> make_current() override {
    const driver::Status status = driver_->ctx_set_current(context_);
    if (status != driver::kSuccess) return driver::driver_error(*driver_, status, "cuCtxSetCurrent");
    return {};
  }

 private:
  std::unique_ptr<driver::Driver> driver_;
  base::ThreadExecutor executor_;
  int ordinal_;
  driver::Device device_ = 0;
  driver::Context context_ = nullptr;
  std::string name_;
  Bytes total_ = 0;
};

}  // namespace

Result<std::unique_ptr<Card>> open_cuda_card(int ordinal) {
  auto loaded = driver::load_cuda_driver();
  if (!loaded) return loaded.error();
  int count = 0;
  const driver::Status status = loaded.value()->device_get_count(&count);
  if (status != driver::kSuccess) return driver::driver_error(*loaded.value(), status, "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count) {
    return Error{Errc::kInvalidArgument,
                 "there is no device " + std::to_string(ordinal) + ": the driver sees " + std::to_string(count)};
  }
  auto card = std::make_unique<CudaCard>(std::move(loaded).value(), ordinal);
  if (Result<void> opened = card->open(); !opened) return opened.error();
  return std::unique_ptr<Card>(std::move(card));
}

}  // namespace tidegate
