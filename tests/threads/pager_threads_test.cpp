// The pager on real threads over the simulated card: I1, I3, I4 and I9 where nothing decides the order.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "src/base/thread_executor.h"
#include "tests/support/checked_stream.h"
#include "tests/support/test_card.h"
#include "tidegate/pager.h"

namespace tidegate {
namespace {

using testkit::CheckedStreams;
using testkit::FunctionId;
using testkit::SeededModel;
using testkit::TestCard;

constexpr Bytes kFrame = 64 * kKiB;
constexpr Bytes kLargest = 2 * kFrame;  // weight
constexpr Bytes kBudget = 24 * kFrame;

// Ends the process when the threads are stuck: they could not be joined.
class Watch {
 public:
  explicit Watch(std::uint64_t seed) : thread_([this, seed] { watch(seed); }) {}
  ~Watch() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    over_.notify_one();
    thread_.join();
  }

 private:
  void watch(std::uint64_t seed) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (over_.wait_for(lock, std::chrono::seconds(120), [this] { return done_; })) return;
    std::fprintf(stderr, "threads seed %llu: stuck for 120 s\n", static_cast<unsigned long long>(seed));
    std::fflush(nullptr);
    std::_Exit(1);
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

struct Setting {
  std::size_t threads = 4;
  bool budgets = true;
  bool faults = false;
  Mode mode = Mode::kDynamic;
  std::uint64_t seed = 1;
  std::size_t steps = 150;
};

class Crowd {
 public:
  explicit Crowd(const Setting& setting)
      : setting_(setting),
        random_(setting.seed),
        card_(executor_, testkit::small_profile(kFrame, 64 * kMiB), setting.seed) {
    kernels_ = driver::CheckKernels::load(card_.raw()).value();
  }

  void run() {
    const Watch watch(setting_.seed);
    const Bytes free = card_.free_bytes();
    auto created =
        Pager::create(card_, {.budget = kBudget, .mode = setting_.mode, .frame_bytes = kFrame, .small_weight = 2048});
    ASSERT_TRUE(created.ok()) << created.error().message;
    pager_ = std::move(created).value();
    for (int m = 0; m < 2; ++m) {
      std::vector<Bytes> sizes;
      for (int i = 0; i < 24; ++i) sizes.push_back(1 + random_.below(random_.below(4) == 0 ? 2048 : kLargest));
      models_.push_back(std::make_unique<SeededModel>(card_.raw(), random_.next(), sizes, m == 0));
      auto added = pager_->add_model(models_.back()->spec("m" + std::to_string(m)));
      ASSERT_TRUE(added.ok()) << added.error().message;
      models_.back()->added(*pager_, *added);
    }
    for (const FunctionId id : {FunctionId::mem_set_access, FunctionId::memcpy_htod_async, FunctionId::event_record,
                                FunctionId::event_query, FunctionId::stream_wait_event, FunctionId::mem_unmap}) {
      card_.faulty().set_probability(id, 1500);
    }
    card_.faulty().arm(setting_.faults);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < setting_.threads; ++t) {
      threads.emplace_back([this, seed = random_.next()] { call(seed); });
    }
    if (setting_.budgets) threads.emplace_back([this, seed = random_.next()] { move_budget(seed); });
    for (std::thread& thread : threads) thread.join();
    card_.faulty().arm(false);
    check();
    for (const auto& model : models_) EXPECT_TRUE(pager_->remove_model(model->id()).ok());
    pager_.reset();
    EXPECT_EQ(card_.free_bytes(), free) << "bytes that the pager left behind";
    const sim::Hazards hazards = card_.machine().hazards();
    EXPECT_EQ(hazards.total_hits() + hazards.total_exposures(), 0u) << hazards.text();
    EXPECT_EQ(card_.faulty().calls(FunctionId::ctx_synchronize), 0u) << "I1";
  }

 private:
  void check() {
    const auto checked = pager_->check_invariants();
    EXPECT_TRUE(checked.ok()) << checked.error().message;
  }

  Result<Lease> take(const std::vector<BlockId>& ids, cu::Stream stream, std::vector<Lease>& held) {
    Result<Lease> lease = pager_->lease(ids, stream);
    for (int attempt = 0; !lease && attempt < 1000; ++attempt) {
      const Errc code = lease.error().code;
      if (code == Errc::kWouldDeadlock) {
        EXPECT_FALSE(held.empty()) << "kWouldDeadlock for a caller that holds nothing";
        held.clear();
      } else if (code == Errc::kBelowFloor && setting_.budgets) {
        (void)pager_->set_budget(kBudget);
      } else if (!setting_.faults || code != Errc::kDriver) {
        break;
      }
      lease = pager_->lease(ids, stream);
    }
    return lease;
  }

  void call(std::uint64_t seed) {
    base::Random random(seed);
    ASSERT_EQ(card_.raw().ctx_set_current(card_.context()), cu::kSuccess);
    CheckedStreams streams(card_.raw(), kernels_, 2, 64);
    std::vector<Lease> held;
    for (std::size_t step = 0; step < setting_.steps && !::testing::Test::HasFailure(); ++step) {
      const SeededModel& model = *models_[random.below(models_.size())];
      const std::size_t on = random.below(2);
      std::vector<std::size_t> set(1 + random.below(5));
      std::vector<BlockId> ids;
      for (std::size_t& index : set) {
        index = random.below(model.blocks().size());
        ids.push_back(model.blocks()[index].id);
      }
      if (random.below(8) == 0) pager_->begin_pass(model.id());
      Result<Lease> lease = take(ids, streams.stream(on), held);
      ASSERT_TRUE(lease.ok()) << lease.error().message;
      for (std::size_t i = 0; i < set.size(); ++i) {
        const SeededModel::Block& block = model.blocks()[set[i]];
        const testkit::SeededWeight& weight = model.weights()[block.weights[random.below(block.weights.size())]];
        EXPECT_EQ(streams.use(on, lease->address(i) + weight.place.offset, weight), "");
        if (random.below(2) == 0) streams.work(on, lease->address(i), block.used, random.below(50'000));
      }
      if (random.below(6) == 0) {
        const BlockId more = model.blocks()[random.below(model.blocks().size())].id;
        if (const auto extended = lease->extend({&more, 1}); !extended) {
          EXPECT_TRUE(extended.error().code == Errc::kOutOfMemory || setting_.faults) << extended.error().message;
        }
      }
      if (random.below(8) == 0 && held.size() < 2) {
        held.push_back(std::move(lease).value());
      } else if (!held.empty() && random.below(2) == 0) {
        held.pop_back();
      }
      if (random.below(20) == 0) pager_->end_step(streams.stream(on));
      if (random.below(30) == 0) check();
      if (random.below(40) == 0) (void)pager_->model_stats(model.id());
    }
    held.clear();
    EXPECT_EQ(streams.verify(), "");
    for (std::size_t i = 0; i < 2; ++i) pager_->forget_stream(streams.stream(i));
  }

  void move_budget(std::uint64_t seed) {
    base::Random random(seed);
    ASSERT_EQ(card_.raw().ctx_set_current(card_.context()), cu::kSuccess);
    for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
      const auto set = pager_->set_budget((8 + random.below(40)) * kFrame);
      if (!set) {
        EXPECT_EQ(set.error().code, Errc::kBelowFloor) << set.error().message;
      }
      check();
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
    }
    (void)pager_->set_budget(kBudget);
  }

  const Setting setting_;
  base::Random random_;
  base::ThreadExecutor executor_;
  TestCard card_;
  driver::CheckKernels kernels_;
  std::vector<std::unique_ptr<SeededModel>> models_;
  std::unique_ptr<Pager> pager_;
};

void run(Setting setting, std::uint64_t count) {
  if (std::getenv("TIDEGATE_NIGHTLY") != nullptr) count *= 20;
  for (setting.seed = 1; setting.seed <= count && !::testing::Test::HasFailure(); ++setting.seed) {
    SCOPED_TRACE("seed " + std::to_string(setting.seed));
    Crowd(setting).run();
  }
}

TEST(PagerThreads, I1_I3_I9_FixedBudget) { run({.threads = 4, .budgets = false}, 4); }
TEST(PagerThreads, I1_I3_I4_I9_MovingBudget) { run({.threads = 4}, 4); }
TEST(PagerThreads, I1_I3_I4_I9_FaultyDriver) { run({.threads = 3, .faults = true}, 4); }
TEST(PagerThreads, I1_I3_I9_StaticMode) { run({.threads = 4, .budgets = false, .mode = Mode::kStatic}, 2); }

}  // namespace
}  // namespace tidegate
