// While it lives, driver calls of this thread do not disturb a graph that the user captures on some stream.
#pragma once

#include "src/driver/driver.h"
#include "src/pager/insist.h"

namespace tidegate::pager {

class RelaxedCapture {
 public:
  explicit RelaxedCapture(driver::Driver& driver) : driver_(driver) {
    exchanged_ = driver_.thread_exchange_stream_capture_mode(&mode_) == cu::kSuccess;
  }
  ~RelaxedCapture() {
    if (exchanged_) insist([&] { return driver_.thread_exchange_stream_capture_mode(&mode_); });
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  driver::Driver& driver_;
  cu::CaptureMode mode_ = cu::kCaptureRelaxed;
  bool exchanged_ = false;
};

}  // namespace tidegate::pager
