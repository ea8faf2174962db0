// What Windows answers a process of a simulated machine, without a front between; and a Windows that answers nothing.
#pragma once

#include <cstring>

#include "sim/windows_answers.h"
#include "src/driver/windows_graphics.h"

namespace tidegate::testkit {

class SimulatedWindows final : public driver::WindowsGraphics {
 public:
  SimulatedWindows(sim::Process& process, int card) : process_(process), card_(card) {}
  bool fails = false;

  win::Luid luid() const override { return sim::win::luid_of(card_); }
  win::HResult query_video_memory_info(win::SegmentGroup group, win::QueryVideoMemoryInfo* info) override {
    if (fails) return win::kUnsupported;
    return sim::win::query_video_memory_info(process_, card_, 0, group, info);
  }
  win::NtStatus query_statistics(win::QueryStatistics* query) override {
    if (fails) return win::kStatusNotSupported;
    return sim::win::query_statistics(process_, query);
  }

 private:
  sim::Process& process_;
  const int card_;
};

// Success without an answer, as Wine's D3DKMT.
class SilentWindows final : public driver::WindowsGraphics {
 public:
  explicit SilentWindows(bool zeros) : zeros_(zeros) {}
  win::Luid luid() const override { return {}; }
  win::HResult query_video_memory_info(win::SegmentGroup, win::QueryVideoMemoryInfo*) override { return win::kOk; }
  win::NtStatus query_statistics(win::QueryStatistics* query) override {
    if (zeros_) std::memset(query->result, 0, sizeof query->result);
    return win::kStatusSuccess;
  }

 private:
  const bool zeros_;
};

}  // namespace tidegate::testkit
