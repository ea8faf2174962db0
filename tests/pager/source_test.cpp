// Models whose bytes a WeightSource has: they come through its few places, in time, and no place is filled anew while a
// copy reads it.
#include <deque>
#include <map>

#include "tests/support/pager_fixture.h"

namespace tidegate::testkit {
namespace {

// `places` weights at a time in page-locked memory; reading one takes 20 us, as a task of the executor. What is given
// back is overwritten at once, so that a copy that still reads it shows.
class SlowSource final : public WeightSource, public base::Task {
 public:
  SlowSource(driver::Driver& driver, base::Executor& executor, const SeededModel& model, std::size_t places)
      : driver_(driver), executor_(executor), model_(model) {
    for (std::byte*& place : memory_) {
      if (&place - memory_.data() >= static_cast<std::ptrdiff_t>(places)) break;
      void* made = nullptr;
      EXPECT_EQ(driver.mem_host_alloc(&made, kFrame, 0), cu::kSuccess);
      place = static_cast<std::byte*>(made);
      free_.push_back(place);
    }
    executor_.add(*this);
  }
  ~SlowSource() override {
    executor_.remove(*this);
    EXPECT_FALSE(ready_) << "the pager did not disconnect";
    EXPECT_EQ(taken_, 0) << "bytes that were not given back";
    for (std::byte* place : memory_) {
      if (place != nullptr) (void)driver_.mem_free_host(place);
    }
  }

  const char* name() const override { return "slow source"; }
  base::Nanos step(base::Nanos now) override {
    const base::Lock lock(mutex_);
    if (queue_.empty()) return base::kNever;
    if (due_ == 0) return due_ = now + 20 * base::kMicrosecond;
    if (now < due_) return due_;
    const std::size_t weight = queue_.front();
    queue_.pop_front();
    due_ = 0;
    Item& item = items_[weight];
    item.coming = false;
    std::memcpy(item.place, model_.weights()[weight].host, model_.weights()[weight].bytes);
    if (ready_) ready_();
    return now;
  }

  void connect(std::function<void()> ready) override {
    const base::Lock lock(mutex_);
    ready_ = std::move(ready);
  }
  Result<void> read(std::size_t weight, void* to) override {
    if (weight == bad) return Error{Errc::kIo, "m.file: offset 7: gone"};
    std::memcpy(to, model_.weights()[weight].host, model_.weights()[weight].bytes);
    return {};
  }
  Result<Supply> want(std::size_t weight, bool now) override {
    const base::Lock lock(mutex_);
    if (weight == bad) return Error{Errc::kIo, "m.file: offset 7: gone"};
    const auto it = items_.find(weight);
    if (it != items_.end()) return it->second.coming ? Supply::kComing : Supply::kReady;
    if (free_.empty() && now) {
      for (auto& [other, item] : items_) {
        if (item.coming || item.users > 0) continue;
        free_.push_back(item.place);
        items_.erase(other);
        break;
      }
    }
    if (free_.empty()) {
      refused_ = true;
      return Supply::kFull;
    }
    items_[weight] = {free_.back(), true, 0};
    free_.pop_back();
    queue_.push_back(weight);
    ++reads;
    executor_.wake(*this);
    return Supply::kComing;
  }
  const std::byte* take(std::size_t weight) override {
    const base::Lock lock(mutex_);
    ++taken_;
    ++items_.at(weight).users;
    return items_.at(weight).place;
  }
  void done(std::size_t weight) override {
    const base::Lock lock(mutex_);
    --taken_;
    Item& item = items_.at(weight);
    if (--item.users > 0) return;
    std::memset(item.place, 0xEE, kFrame);
    free_.push_back(item.place);
    items_.erase(weight);
    if (std::exchange(refused_, false) && ready_) ready_();
  }

  std::size_t reads = 0;
  std::size_t bad = ~std::size_t{0};  // this weight cannot be read

 private:
  struct Item {
    std::byte* place = nullptr;
    bool coming = false;
    int users = 0;
  };
  driver::Driver& driver_;
  base::Executor& executor_;
  const SeededModel& model_;
  std::array<std::byte*, 16> memory_{};
  base::Mutex mutex_;
  std::function<void()> ready_;
  std::map<std::size_t, Item> items_;
  std::vector<std::byte*> free_;
  std::deque<std::size_t> queue_;
  base::Nanos due_ = 0;
  int taken_ = 0;
  bool refused_ = false;
};

class Source : public PagerFixture {
 protected:
  SeededModel& add_from_source(const std::vector<Bytes>& sizes, std::size_t places) {
    models_.push_back(std::make_unique<SeededModel>(card_.raw(), 40 + models_.size(), sizes, false));
    SeededModel& model = *models_.back();
    source_ = std::make_shared<SlowSource>(card_.raw(), executor_, model, places);
    ModelSpec spec = model.spec("m");
    for (Weight& weight : spec.weights) weight.host = nullptr;
    spec.source = source_;
    auto added = pager_->add_model(std::move(spec));
    EXPECT_TRUE(added.ok()) << added.error().message;
    if (added) model.added(*pager_, *added);
    return model;
  }
  void TearDown() override {
    PagerFixture::TearDown();
    source_.reset();
  }
  std::shared_ptr<SlowSource> source_;
};

TEST_F(Source, BringsEveryByteThroughFewPlaces) {
  for (const std::size_t places : {1u, 2u, 5u, 16u}) {
    open(6);
    SeededModel& model = add_from_source(frames_of(14), places);
    for (int i = 0; i < 4; ++i) pass(model, 10 * base::kMicrosecond);
    check();
    streams_.reset();
    pager_.reset();
    source_.reset();
    models_.clear();
  }
}

TEST_F(Source, ReadsOnlyWhatIsNotResident) {
  open(16);
  SeededModel& model = add_from_source(frames_of(10), 4);
  for (int i = 0; i < 3; ++i) pass(model);
  const std::size_t first = source_->reads;
  EXPECT_GE(first, 10u);
  pass(model);
  pass(model);
  EXPECT_EQ(source_->reads, first);
}

TEST_F(Source, ReadsAheadWhileTheCardComputes) {
  open(6);
  SeededModel& model = add_from_source(frames_of(14), 4);
  for (int i = 0; i < 3; ++i) pass(model, 100 * base::kMicrosecond);
  const base::Nanos start = executor_.now();
  pass(model, 100 * base::kMicrosecond);
  // 14 uses of 100 us each; the reads of 20 us hide behind them.
  EXPECT_LT(executor_.now() - start, 14 * 100 * base::kMicrosecond + 2 * 60 * base::kMicrosecond);
}

TEST_F(Source, SmallWeightsAreReadOnce) {
  open(6);
  SeededModel& model = add_from_source({256, 300, kFrame, 128, kFrame}, 2);
  pass(model);
  pass(model);
}

TEST_F(Source, ALeaseOfMoreThanItsPlacesIsGranted) {
  open(8);
  SeededModel& model = add_from_source(frames_of(12), 2);
  for (const std::size_t first : {0u, 6u, 3u}) {
    auto taken = lease(model, {first, first + 1, first + 2, first + 3, first + 4, first + 5});
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    for (std::size_t i = 0; i < 6; ++i) use(model, *taken, i);
    taken->release();
    EXPECT_EQ(streams().verify(), "");
  }
}

TEST_F(Source, WhatCannotBeReadIsTheLeasesErrorAndNoMore) {
  open(6);
  SeededModel& model = add_from_source(frames_of(14), 3);
  source_->bad = 5;
  for (std::size_t i = 0; i < 14; ++i) {
    auto taken = lease(model, {i});
    if (i == 5) {
      ASSERT_FALSE(taken.ok());
      EXPECT_EQ(taken.error().code, Errc::kIo);
      EXPECT_EQ(taken.error().message, "m.file: offset 7: gone");
    } else {
      ASSERT_TRUE(taken.ok()) << taken.error().message;
      use(model, *taken, 0);
    }
  }
  check();
  source_->bad = ~std::size_t{0};
  pass(model);
}

TEST_F(Source, AnExtensionDoesNotWaitForAReader) {
  open(6);
  SeededModel& model = add_from_source(frames_of(14), 2);
  auto taken = lease(model, {0});
  ASSERT_TRUE(taken.ok());
  std::size_t block = 14;
  Result<void> extended;
  while (extended.ok() && block > 1) {  // some of them lie on the card already
    extended = taken->extend(std::vector<BlockId>{model.blocks()[--block].id});
  }
  ASSERT_FALSE(extended.ok());
  EXPECT_EQ(extended.error().code, Errc::kOutOfMemory);
  EXPECT_EQ(
      extended.error().message,
      "the blocks to be added have yet to be read by their model's source; lease them from the start, or try again");
  for (int attempt = 0; attempt < 3 && !extended.ok(); ++attempt) {
    sleep(base::kMillisecond);
    extended = taken->extend(std::vector<BlockId>{model.blocks()[block].id});
  }
  EXPECT_TRUE(extended.ok()) << extended.error().message;
}

TEST_F(Source, GivesEverythingBackWhenTheModelGoes) {
  open(6);
  SeededModel& model = add_from_source(frames_of(14), 4);
  pass(model);
  ASSERT_TRUE(pager_->remove_model(model.id()).ok());
  EXPECT_EQ(source_.use_count(), 1);
}

TEST_F(Source, TwoThreadsAndABudgetThatMoves) {
  open(8);
  SeededModel& model = add_from_source(frames_of(20), 3);
  const auto body = [&](std::size_t stride, bool changes_budget) {
    return [&, stride, changes_budget] {
      CheckedStreams own(card_.raw(), kernels_, 1);
      for (std::size_t i = 0; i < 60; ++i) {
        const auto& block = model.blocks()[i * stride % 20];
        const SeededWeight& weight = model.weights()[block.weights[0]];
        auto taken = pager_->lease({&block.id, 1}, own.stream(0));
        ASSERT_TRUE(taken.ok()) << taken.error().message;
        EXPECT_EQ(own.use(0, taken->address(0), weight), "");
        own.work(0, taken->address(0), block.used, 5'000);
        taken->release();
        if (!changes_budget || i % 10 != 9) continue;
        ASSERT_TRUE(pager_->set_budget((i % 20 == 9 ? 4 : 8) * kFrame).ok());
      }
      EXPECT_EQ(own.verify(), "");
      pager_->forget_stream(own.stream(0));
    };
  };
  run_threads({body(7, false), body(1, true)});
  check();
}

TEST_F(Source, ModesStaticAndOff) {
  for (const Mode mode : {Mode::kStatic, Mode::kOff}) {
    PagerOptions wanted = options(20);
    wanted.mode = mode;
    open(wanted);
    SeededModel& model = add_from_source(frames_of(14), 2);
    pass(model);
    pass(model);
    streams_.reset();
    pager_.reset();
    source_.reset();
    models_.clear();
  }
}

}  // namespace
}  // namespace tidegate::testkit
