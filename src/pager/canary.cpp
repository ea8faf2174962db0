#include "src/pager/canary.h"

#include "src/pager/insist.h"

namespace tidegate::pager {

Canary::~Canary() {
  if (stream_ != nullptr) insist([&] { return driver_.stream_synchronize(stream_); });
  if (mapped_) insist([&] { return driver_.mem_unmap(address_, bytes_); });
  if (handle_ != 0) insist([&] { return driver_.mem_release(handle_); });
  if (event_ != nullptr) insist([&] { return driver_.event_destroy(event_); });
  if (stream_ != nullptr) insist([&] { return driver_.stream_destroy(stream_); });
}

cu::Status Canary::open(Bytes granularity) {
  bytes_ = granularity;
  cu::Status status = cu::kSuccess;
  if (address_ == 0) status = driver_.mem_address_reserve(&address_, bytes_, 0, 0, 0);
  if (status == cu::kSuccess && handle_ == 0) {
    cu::MemProp prop{};
    prop.type = cu::kAllocationPinned;
    prop.location = {cu::kLocationDevice, device_};
    ++mapping_calls_;
    status = driver_.mem_create(&handle_, bytes_, &prop, 0);
  }
  if (status == cu::kSuccess && event_ == nullptr) status = driver_.event_create(&event_, cu::kEventDisableTiming);
  if (status == cu::kSuccess && stream_ == nullptr) status = driver_.stream_create(&stream_, cu::kStreamNonBlocking);
  return status == cu::kSuccess ? send() : status;
}

cu::Status Canary::mark() {
  const cu::Status status = driver_.event_record(event_, stream_);
  if (status == cu::kSuccess) marked_ = true;
  return status;
}

cu::Status Canary::send() {
  if (marked_) {  // I1: nothing is unmapped under work, this frame neither
    if (const cu::Status status = passed(); status != cu::kSuccess) return status;
    marked_ = false;
  }
  if (mapped_ && accessible_) {
    ++mapping_calls_;
    const cu::Status status = driver_.mem_unmap(address_, bytes_);
    if (status != cu::kSuccess) return status;
    mapped_ = accessible_ = false;
  }
  if (!mapped_) {
    ++mapping_calls_;
    const cu::Status status = driver_.mem_map(address_, bytes_, 0, handle_, 0);
    if (status != cu::kSuccess) return status;
    mapped_ = true;
  }
  const cu::MemAccess access{{cu::kLocationDevice, device_}, cu::kAccessReadWrite};
  ++mapping_calls_;
  cu::Status status = driver_.mem_set_access(address_, bytes_, &access, 1);
  if (status != cu::kSuccess) return status;
  accessible_ = true;
  status = touch(address_);
  return status == cu::kSuccess ? mark() : status;
}

}  // namespace tidegate::pager
