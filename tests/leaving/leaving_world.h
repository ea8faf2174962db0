// A pager on a card under Windows at full size, its contents tags; a budget that falls and rises; a thread of the same
// process that submits as PyTorch would; a neighbour. All of it from one seed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sim/wddm_control.h"
#include "src/base/checksum.h"
#include "src/driver/kernels.h"
#include "tests/support/test_card.h"
#include "tests/wddm/wddm_fixture.h"
#include "tidegate/pager.h"

namespace tidegate::testkit {

struct LeavingScene {
  std::uint64_t seed = 1;
  LeavingOptions leaving{};
  Bytes neighbour = 1 * kGiB;     // what it holds, and reads now and then
  bool torch = true;              // another thread of the pager's process submits throughout
  bool restricted = true;         // the system restricts this process's budget at times, which demotes at once
  bool demoted_for_ever = false;  // part of the process's memory, whatever it does
  int budgets = 10;               // how often the budget changes
};

struct LeavingOutcome {
  sim::Hazards hazards;
  PagerStats stats;
  std::uint64_t evictions = 0;     // by the system
  bool over_committed = false;     // at any look
  std::string broken;              // empty: the invariants held
  base::Nanos longest_budget = 0;  // of set_budget
  Bytes destroyed = 0;
};

// Hits and exposures of the rules about how memory leaves; H-6 is no fault of the program.
inline std::uint64_t windows_of(const sim::Hazards& hazards) {
  std::uint64_t sum = 0;
  for (const char* rule : {"H-1", "H-2", "H-3", "H-4", "H-8", "H-9", "H-10", "H-11"}) {
    sum += hazards.hits(rule) + hazards.exposures(rule);
  }
  return sum;
}

class LeavingWorld {
 public:
  static constexpr Bytes kBlock = 64 * kMiB;
  static constexpr std::size_t kBlocks = 60;
  static constexpr Bytes kMost = 3 * kGiB;  // of the pager's budget

  explicit LeavingWorld(const LeavingScene& scene)
      : scene_(scene),
        executor_(scene.seed),
        card_(executor_, sim::rtx3050(), scene.seed),
        random_(scene.seed ^ 0x1EAF),
        neighbour_(card_.machine(), "neighbour") {
    EXPECT_TRUE(card_.machine().declare_tagged_host(sim::contents(), kGiB, 1));
    EXPECT_TRUE(card_.machine().declare_tagged_host(weights(), kBlocks * kBlock, 2));
    neighbour_.grow(scene.neighbour);
    EXPECT_TRUE(card_.make_current().ok());
    kernels_ = driver::CheckKernels::load(card_.raw()).value();
  }

  LeavingOutcome run() {
    auto created = Pager::create(card_, {.budget = kMost, .leaving = scene_.leaving});
    EXPECT_TRUE(created.ok()) << created.error().message;
    pager_ = std::move(created).value();
    ModelSpec spec{.name = "model", .weights = {}};
    for (std::size_t i = 0; i < kBlocks; ++i) {
      spec.weights.push_back({"w" + std::to_string(i), kBlock, static_cast<const std::byte*>(weights()) + i * kBlock});
    }
    const ModelId model = pager_->add_model(std::move(spec)).value();
    if (scene_.demoted_for_ever) {
      sim::vidmm::Knobs knobs;
      knobs.restrict_budget_local = 256 * kMiB;
      EXPECT_TRUE(sim::wddm::set_knobs(card_.process(), knobs));
    }
    executor_.run_threads({
        [&] { use(model); },
        [&] { change_budget(); },
        [&] { submit_beside(); },
        [&] { live_beside(); },
    });
    EXPECT_TRUE(card_.make_current().ok());
    if (const auto sound = pager_->check_invariants(); !sound) outcome_.broken = sound.error().message;
    outcome_.stats = pager_->stats();
    pager_.reset();
    outcome_.hazards = card_.machine().hazards();
    outcome_.evictions = sim::wddm::counters_of(card_.process()).evictions;
    outcome_.destroyed = outcome_.stats.leaving.frames * outcome_.stats.frame_bytes;
    return outcome_;
  }

 private:
  static const void* weights() { return reinterpret_cast<const void*>(std::uintptr_t{1} << 45); }  // NOLINT

  void sleep(base::Nanos time) { executor_.sleep_until(executor_.now() + time); }

  void use(ModelId model) {
    (void)card_.make_current();
    cu::Stream stream = nullptr;
    EXPECT_OK(card_.raw().stream_create(&stream, cu::kStreamNonBlocking));
    while (!over_) {
      pager_->begin_pass(model);
      for (std::size_t i = 0; i < kBlocks && !over_; ++i) {
        const BlockId block = pager_->place(model, i).block;
        auto lease = pager_->lease({&block, 1}, stream);
        if (!lease) {
          ADD_FAILURE() << "seed " << scene_.seed << ": " << lease.error().message;
          over_ = true;
          break;
        }
        EXPECT_OK(kernels_.launch_work(card_.raw(), lease->address(0), kBlock, 2'000'000, stream));
        lease->release();
      }
      pager_->end_step(stream);
      EXPECT_OK(card_.raw().stream_synchronize(stream));
      look();
    }
    pager_->forget_stream(stream);
    EXPECT_OK(card_.raw().stream_destroy(stream));
  }

  void change_budget() {
    (void)card_.make_current();
    for (int i = 0; i < scene_.budgets; ++i) {
      sleep(static_cast<base::Nanos>(random_.below(200)) * base::kMillisecond);
      const Bytes budget = 256 * kMiB + random_.below(kMost / kMiB - 256) * kMiB;
      const base::Nanos began = executor_.now();
      const auto set = pager_->set_budget(budget);
      EXPECT_TRUE(set.ok()) << set.error().message;
      outcome_.longest_budget = std::max(outcome_.longest_budget, executor_.now() - began);
      look();
    }
    over_ = true;
  }

  // What PyTorch's caching allocator and its kernels do beside the pager: memory that stays, work that never ends.
  void submit_beside() {
    (void)card_.make_current();
    if (!scene_.torch) return;
    cu::Stream stream = nullptr;
    cu::DevicePtr scratch = 0;
    EXPECT_OK(card_.raw().stream_create(&stream, cu::kStreamNonBlocking));
    EXPECT_OK(card_.raw().mem_alloc(&scratch, 256 * kMiB));
    while (!over_) {
      EXPECT_OK(card_.raw().memset_d8_async(scratch, 1, kMiB, stream));
      sleep(static_cast<base::Nanos>(random_.below(400)) * base::kMicrosecond + base::kMicrosecond);
    }
    EXPECT_OK(card_.raw().stream_synchronize(stream));
    EXPECT_OK(card_.raw().mem_free(scratch));
    EXPECT_OK(card_.raw().stream_destroy(stream));
  }

  // The neighbour reads what it has; the system restricts the pager's process, or another program comes and goes.
  void live_beside() {
    while (!over_) {
      sleep(static_cast<base::Nanos>(random_.below(60)) * base::kMillisecond);
      const std::uint64_t what = random_.below(4);
      if (what < 2) {
        (void)neighbour_.pass_gb_per_s();
      } else if (what == 2 && scene_.restricted && restrictions_ < 3 && random_.below(4) == 0) {
        ++restrictions_;
        sim::vidmm::Knobs knobs;
        knobs.restrict_budget_local = (256 + random_.below(1024)) * kMiB;
        (void)sim::wddm::set_knobs(card_.process(), knobs);
        sleep(static_cast<base::Nanos>(random_.below(20)) * base::kMillisecond);
        (void)sim::wddm::set_knobs(card_.process(), {});
      } else if (what == 3 && visitors_ < 3) {
        ++visitors_;
        sim::Program visitor(card_.machine(), "visitor");
        visitor.grow(64 * kMiB);
      }
      look();
    }
  }

  void look() {
    const sim::wddm::CardLedgers ledgers = sim::wddm::card_ledgers_of(card_.process());
    if (ledgers.committed > ledgers.capacity) outcome_.over_committed = true;
  }

  LeavingScene scene_;
  base::VirtualExecutor executor_;
  TestCard card_;
  base::Random random_;
  sim::Program neighbour_;
  driver::CheckKernels kernels_;
  std::unique_ptr<Pager> pager_;
  LeavingOutcome outcome_;
  bool over_ = false;
  int visitors_ = 0;
  int restrictions_ = 0;
};

}  // namespace tidegate::testkit
