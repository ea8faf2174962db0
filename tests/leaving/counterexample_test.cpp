// I2: the counterexample to naive draining. The canary passes, a sibling demotes the frame, another thread of the
// process submits, the frame's page-in is pending, and it is released.
#include "tests/leaving/leaving_world.h"

namespace tidegate::testkit {
namespace {

// Waits until a canary was sent, lets it pass, then does what must not come between drain and release.
class Sabotage {
 public:
  explicit Sabotage(const LeavingOptions& leaving)
      : executor_(1), card_(executor_, sim::rtx3050(), 1), sibling_(card_.machine(), "sibling") {
    EXPECT_TRUE(card_.machine().declare_tagged_host(sim::contents(), kGiB, 1));
    EXPECT_TRUE(card_.make_current().ok());
    auto created = Pager::create(card_, {.budget = 2 * kGiB, .leaving = leaving});
    EXPECT_TRUE(created.ok()) << created.error().message;
    pager_ = std::move(created).value();
  }

  sim::Hazards run() {
    ModelSpec spec{.name = "model", .weights = {}};
    for (std::size_t i = 0; i < 16; ++i) spec.weights.push_back({"w" + std::to_string(i), 64 * kMiB, sim::contents()});
    const ModelId model = pager_->add_model(std::move(spec)).value();
    cu::Stream stream = nullptr;
    EXPECT_OK(card_.raw().stream_create(&stream, cu::kStreamNonBlocking));
    for (std::size_t i = 0; i < 16; ++i) {
      const BlockId block = pager_->place(model, i).block;
      pager_->lease({&block, 1}, stream).value().release();
    }
    pager_->end_step(stream);
    EXPECT_OK(card_.raw().stream_synchronize(stream));
    executor_.sleep_until(executor_.now() + base::kSecond);  // the first plan's copies are over
    bool over = false;
    executor_.run_threads({[&] {
                             EXPECT_TRUE(card_.make_current().ok());
                             EXPECT_TRUE(pager_->set_budget(256 * kMiB).ok());
                             over = true;
                           },
                           [&] { sabotage(over); }});
    EXPECT_LE(pager_->stats().held, 256 * kMiB);
    pager_.reset();
    return card_.machine().hazards();
  }

 private:
  void sabotage(const bool& over) {
    EXPECT_TRUE(card_.make_current().ok());
    cu::Stream stream = nullptr;
    cu::DevicePtr scratch = 0;
    EXPECT_OK(card_.raw().stream_create(&stream, cu::kStreamNonBlocking));
    EXPECT_OK(card_.raw().mem_alloc(&scratch, 2 * kMiB));
    const std::uint64_t frames = pager_->stats().leaving.frames;
    while (!over && pager_->stats().leaving.frames == frames) executor_.sleep_until(executor_.now() + 10'000);
    // The batch is being released, so its canary has passed.
    EXPECT_TRUE(sim::wddm::evict_process(card_.process()));
    EXPECT_OK(card_.raw().memset_d8_async(scratch, 1, kMiB, stream));
    EXPECT_OK(card_.raw().stream_synchronize(stream));
    EXPECT_OK(card_.raw().mem_free(scratch));
    EXPECT_OK(card_.raw().stream_destroy(stream));
  }

  base::VirtualExecutor executor_;
  TestCard card_;
  sim::Program sibling_;
  std::unique_ptr<Pager> pager_;
};

TEST(Counterexample, I2_ADrainAloneIsNotEnough) {
  const sim::Hazards found = Sabotage({.gate = false}).run();
  EXPECT_GT(found.hits("H-1"), 0u) << "the oracle must see it, or the next test shows nothing";
}

TEST(Counterexample, I2_TheLastLookBeforeEachReleaseIs) {
  const sim::Hazards found = Sabotage({}).run();
  EXPECT_EQ(windows_of(found), 0u) << found.text();
}

// Demotion that never ends, and a thread that never pauses: the budget is reached, and what it cost is counted.
TEST(Counterexample, I2_ABudgetIsReachedWhileDemotionIsHeldForEver) {
  LeavingScene scene{.torch = true, .restricted = false, .budgets = 6};
  scene.demoted_for_ever = true;
  const LeavingOutcome outcome = LeavingWorld(scene).run();
  EXPECT_EQ(outcome.broken, "");
  EXPECT_LE(outcome.longest_budget, 2'500 * base::kMillisecond);
  EXPECT_LE(outcome.stats.held, outcome.stats.budget);
  EXPECT_GT(outcome.stats.leaving.frames, 0u);
  EXPECT_GT(outcome.stats.leaving.exposures, 0u);
}

}  // namespace
}  // namespace tidegate::testkit
