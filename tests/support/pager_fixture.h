// One pager of one model on a small simulated card with a virtual clock. Frames of 64 KiB, so a block of 64 KiB fills
// one.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/virtual_executor.h"
#include "tests/support/checked_stream.h"
#include "tests/support/seeded_model.h"
#include "tests/support/test_card.h"
#include "tidegate/pager.h"

namespace tidegate::testkit {

inline constexpr Bytes kFrame = 64 * kKiB;

class PagerFixture : public ::testing::Test {
 protected:
  PagerFixture() : executor_(1), card_(executor_, small_profile(kFrame, 64 * kMiB), 1), watchdog_(*this) {
    executor_.on_deadlock([](const std::string& text) { stop(text); });
    kernels_ = driver::CheckKernels::load(card_.raw()).value();
    executor_.add(watchdog_);
  }
  ~PagerFixture() override { executor_.remove(watchdog_); }

  // Frees, then looks whether anything stayed or went wrong.
  void TearDown() override {
    streams_.reset();
    pager_.reset();
    if (expect_clean_) {
      EXPECT_EQ(card_.free_bytes(), free_at_start_) << "bytes that the pager left behind";
      const sim::Hazards hazards = card_.machine().hazards();
      EXPECT_EQ(hazards.total_hits() + hazards.total_exposures(), 0u) << hazards.text();
    }
    EXPECT_EQ(card_.faulty().calls(FunctionId::ctx_synchronize), 0u) << "I1";
    models_.clear();
  }

  PagerOptions options(std::size_t frames) {
    return {.budget = frames * kFrame, .frame_bytes = kFrame, .small_weight = 512};
  }
  void open(std::size_t frames) { open(options(frames)); }
  void open(const PagerOptions& wanted) {
    free_at_start_ = card_.free_bytes();
    auto created = Pager::create(card_, wanted);
    ASSERT_TRUE(created.ok()) << created.error().message;
    pager_ = std::move(created).value();
  }
  SeededModel& add(const std::vector<Bytes>& sizes, int priority = 0) {
    models_.push_back(std::make_unique<SeededModel>(card_.raw(), 40 + models_.size(), sizes, true));
    auto added = pager_->add_model(models_.back()->spec("m" + std::to_string(models_.size()), priority));
    EXPECT_TRUE(added.ok()) << added.error().message;
    if (added) models_.back()->added(*pager_, *added);
    return *models_.back();
  }
  static std::vector<Bytes> frames_of(std::size_t count) { return std::vector<Bytes>(count, kFrame); }

  CheckedStreams& streams() {
    if (streams_ == nullptr) streams_ = std::make_unique<CheckedStreams>(card_.raw(), kernels_, 2);
    return *streams_;
  }
  cu::Stream stream(std::size_t index = 0) { return streams().stream(index); }

  Result<Lease> lease(const SeededModel& model, std::vector<std::size_t> blocks, std::size_t on = 0) {
    std::vector<BlockId> ids;
    for (const std::size_t block : blocks) ids.push_back(model.blocks()[block].id);
    return pager_->lease(ids, stream(on));
  }
  // A checked use of the lease's block.
  void use(const SeededModel& model, const Lease& lease, std::size_t index, std::size_t on = 0, base::Nanos work = 0) {
    for (const SeededModel::Block& block : model.blocks()) {
      if (block.id != lease.block(index)) continue;
      const SeededWeight& weight = model.weights()[block.weights[0]];
      EXPECT_EQ(streams().use(on, lease.address(index) + weight.place.offset, weight), "");
      if (work > 0) streams().work(on, lease.address(index), block.used, static_cast<std::uint64_t>(work));
    }
  }
  // One pass, block by block, each checked.
  void pass(const SeededModel& model, base::Nanos work = 0) {
    for (std::size_t i = 0; i < model.blocks().size(); ++i) {
      auto taken = lease(model, {i});
      ASSERT_TRUE(taken.ok()) << taken.error().message;
      use(model, *taken, 0, 0, work);
    }
    EXPECT_EQ(streams().verify(), "");
  }
  void sleep(base::Nanos time) { executor_.sleep_until(executor_.now() + time); }
  void check() {
    const auto checked = pager_->check_invariants();
    EXPECT_TRUE(checked.ok()) << checked.error().message;
  }
  void run_threads(std::vector<std::function<void()>> bodies) {
    for (std::function<void()>& body : bodies) {
      body = [this, inner = std::move(body)] {
        EXPECT_EQ(card_.raw().ctx_set_current(card_.context()), cu::kSuccess);
        inner();
      };
    }
    executor_.run_threads(std::move(bodies));
  }

  base::VirtualExecutor executor_;
  TestCard card_;
  driver::CheckKernels kernels_;
  std::vector<std::unique_ptr<SeededModel>> models_;
  std::unique_ptr<Pager> pager_;
  std::unique_ptr<CheckedStreams> streams_;
  bool expect_clean_ = true;  // false once the card itself is broken

 private:
  [[noreturn]] static void stop(const std::string& why) {
    std::fprintf(stderr, "%s.%s: %s\n", ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(),
                 ::testing::UnitTest::GetInstance()->current_test_info()->name(), why.c_str());
    std::fflush(nullptr);
    std::_Exit(1);
  }
  // A directed test takes milliseconds of virtual time; one that hangs would take for ever.
  class Watchdog final : public base::Task {
   public:
    explicit Watchdog(PagerFixture&) {}
    const char* name() const override { return "watchdog"; }
    base::Nanos step(base::Nanos now) override {
      if (now > 20 * base::kSecond) stop("still running after 20 virtual seconds: somebody waits for ever");
      return now + base::kSecond;
    }
  } watchdog_;
  Bytes free_at_start_ = 0;
};

}  // namespace tidegate::testkit
