#include "cli/raw_card.h"

#include <fmt/format.h>

#include "cli/device_buffer.h"
#include "src/base/thread_executor.h"
#include "src/driver/cuda_driver.h"
#include "src/driver/windows_graphics.h"

namespace tidegate::cli {
namespace {

constexpr Bytes kGranule = 2 * kMiB;
constexpr int kMostTries = 16;  // of a mapping that is NOT_READY (600): a retry succeeds (W-41)

Error failed(driver::Driver& driver, cu::Status status, const char* what) {
  Error error = driver::driver_error(driver, status, what);
  if (status == cu::kOutOfMemory) error.code = Errc::kOutOfMemory;
  return error;
}

}  // namespace

RawCard::~RawCard() {
  if (context_ == nullptr) return;
  give();
  (void)driver_->device_primary_ctx_release(device_);
}

Result<void> RawCard::load(int ordinal) {
  auto loaded = driver::load_cuda_driver();
  if (!loaded) return loaded.error();
  driver_ = std::move(loaded).value();
  int count = 0;
  (void)driver_->device_get_count(&count);
  if (ordinal < 0 || ordinal >= count) {
    return Error{Errc::kInvalidArgument, fmt::format("--card {}: the driver sees {}, counted from 0", ordinal, count)};
  }
  return checked(*driver_, driver_->device_get(&device_, ordinal), "cuDeviceGet");
}

Result<void> RawCard::enter() {
  const cu::Status status = driver_->device_primary_ctx_retain(&context_, device_);
  if (status != cu::kSuccess) {
    context_ = nullptr;
    return failed(*driver_, status, "cuDevicePrimaryCtxRetain");
  }
  return checked(*driver_, driver_->ctx_set_current(context_), "cuCtxSetCurrent");
}

Result<void> RawCard::take(Bytes bytes, Way way) {
  Piece piece;
  piece.bytes = round_up(bytes, kGranule);
  if (way == Way::kVmm) {
    auto mapped = map(piece.bytes);
    if (!mapped) return mapped.error();
    piece = mapped.value();
  } else {
    const cu::Status status = driver_->mem_alloc(&piece.at, piece.bytes);
    if (status != cu::kSuccess) return failed(*driver_, status, "cuMemAlloc");
  }
  pieces_.push_back(piece);
  return {};
}

Result<RawCard::Piece> RawCard::map(Bytes bytes) {
  Piece piece;
  piece.bytes = bytes;
  const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, device_}, nullptr, {}};
  const cu::MemAccess access{{cu::kLocationDevice, device_}, cu::kAccessReadWrite};
  cu::Status status = driver_->mem_create(&piece.handle, bytes, &prop, 0);
  if (status != cu::kSuccess) return failed(*driver_, status, "cuMemCreate");
  const char* what = "cuMemAddressReserve";
  status = driver_->mem_address_reserve(&piece.at, bytes, 0, 0, 0);
  if (status == cu::kSuccess) {
    what = "cuMemMap";
    status = driver_->mem_map(piece.at, bytes, 0, piece.handle, 0);
    if (status == cu::kSuccess) {
      what = "cuMemSetAccess";
      int tries = 0;
      do {
        status = driver_->mem_set_access(piece.at, bytes, &access, 1);
      } while (status == cu::kNotReady && ++tries < kMostTries);
      if (status == cu::kSuccess) return piece;
      (void)driver_->mem_unmap(piece.at, bytes);
    }
    (void)driver_->mem_address_free(piece.at, bytes);
  }
  const Error error = failed(*driver_, status, what);
  (void)driver_->mem_release(piece.handle);
  return error;
}

Result<void> RawCard::touch() {
  OwnedStream stream(*driver_);
  if (auto made = stream.create(); !made) return made;
  for (const Piece& piece : pieces_) {
    const cu::Status status = driver_->memset_d8_async(piece.at, 1, piece.bytes, stream.get());
    if (status != cu::kSuccess) return failed(*driver_, status, "cuMemsetD8Async");
  }
  return stream.synchronize();
}

void RawCard::give() {
  for (const Piece& piece : pieces_) {
    if (piece.handle == 0) {
      (void)driver_->mem_free(piece.at);
      continue;
    }
    (void)driver_->mem_unmap(piece.at, piece.bytes);
    (void)driver_->mem_release(piece.handle);
    (void)driver_->mem_address_free(piece.at, piece.bytes);
  }
  pieces_.clear();
}

Result<Bytes> RawCard::free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  const cu::Status status = driver_->mem_get_info(&free, &total);
  if (status != cu::kSuccess) return failed(*driver_, status, "cuMemGetInfo");
  return Bytes{free};
}

long long time_on_card() {
  static base::ThreadExecutor wall;  // only its clock is used
  const std::int64_t simulated = driver::simulated_card_time();
  return simulated >= 0 ? simulated : wall.now();
}

}  // namespace tidegate::cli
