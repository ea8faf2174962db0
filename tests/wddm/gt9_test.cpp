// GT-9: the crash report's models on its card, beside other programs. A pager that maps and releases as it goes is
// caught; one that recycles its frames and gives back what is settled and drained is not.
#include "tests/wddm/wddm_fixture.h"

namespace tidegate::sim {
namespace {

constexpr Bytes kPage = 32 * kMiB;

struct Model {
  const char* name;
  Bytes bytes;
  int passes;
};
constexpr Model kModels[] = {{"LTXAV", 20'484 * kMiB, 2}, {"ZImageTE", 7'671 * kMiB, 1}, {"Lumina2", 11'738 * kMiB, 2}};

// The machine of the report: other python processes hold memory of their own and use it now and then.
class Gt9 {
 public:
  explicit Gt9(std::uint64_t seed) : world_(rtx3050(), seed), pager_(world_.machine(), "pager"), random_(seed) {
    for (const Bytes bytes : {256 * kMiB, 2 * kGiB}) {
      others_.push_back(std::make_unique<Program>(world_.machine(), "other"));
      others_.back()->grow(bytes);
    }
    pager_.enter();
  }

  // What happens beside the pager between two of its pages.
  void others_turn() {
    if (random_.below(16) != 0) return;
    (void)others_[random_.below(others_.size())]->pass_gb_per_s();
    pager_.enter();
  }

  Program& pager() { return pager_; }
  Hazards hazards() { return world_.machine().hazards(); }
  Bytes demoted() { return wddm::ledgers_of(pager_.process()).demoted; }
  std::uint64_t evictions() { return wddm::counters_of(pager_.process()).evictions; }
  std::uint64_t destroys() { return wddm::counters_of(pager_.process()).destroys; }

 private:
  WindowsWorld world_;
  Program pager_;
  std::vector<std::unique_ptr<Program>> others_;
  base::Random random_;
};

// Physical memory for each page as it is needed, at the page's own place in its model's addresses. Under pressure, and
// when a model is done, the newest pages are unmapped and released, after a synchronise; a model's addresses are freed
// before the next model's are reserved. It believes cuMemGetInfo. Another thread of the process (torch) goes on
// working.
void run_churning(Gt9& world) {
  Program& pager = world.pager();
  driver::Driver& cuda = pager.cuda();
  const cu::DevicePtr scratch = pager.take(2 * kMiB);
  for (const Model& model : kModels) {
    const Bytes size = round_up(model.bytes, kPage);
    cu::DevicePtr base = 0;
    ASSERT_OK(cuda.mem_address_reserve(&base, size, 0, 0, 0));
    std::vector<Program::Frame> mapped;
    std::vector<bool> present(size / kPage);
    const auto release = [&](std::size_t count) {
      ASSERT_OK(cuda.stream_synchronize(pager.stream()));
      for (std::size_t i = 0; i < count; ++i) {
        world.others_turn();
        if (i % 8 == 7) pager.submit(scratch);
        present[(mapped.back().va - base) / kPage] = false;
        pager.unmap(mapped.back());
        mapped.pop_back();
      }
    };
    for (int pass = 0; pass < model.passes; ++pass) {
      for (Bytes page = 0; page < present.size(); ++page) {
        const cu::DevicePtr va = base + page * kPage;
        if (!present[page]) {
          if (pager.free_mib() < 512) release(4);
          mapped.push_back(pager.map(kPage, va));
          present[page] = true;
          ASSERT_OK(cuda.memcpy_htod_async(va, contents(), kPage, pager.stream()));
        }
        pager.submit(va);
        world.others_turn();
      }
    }
    release(mapped.size());
    ASSERT_OK(cuda.mem_address_free(base, size));
  }
}

// One arena; a page's contents are replaced, its frame stays. What the next model does not need is given back: settled,
// drained by a canary, nothing submitted until all is released; no slot gets a second tenant.
void run_recycling(Gt9& world) {
  Program& pager = world.pager();
  driver::Driver& cuda = pager.cuda();
  const Program::Frame canary = pager.map(2 * kMiB);
  pager.touch(canary.va);
  const auto drain = [&] {
    ASSERT_OK(cuda.mem_unmap(canary.va, canary.bytes));
    ASSERT_OK(cuda.mem_map(canary.va, canary.bytes, 0, canary.handle, 0));
    while (pager.set_access(canary) == cu::kNotReady) {
    }
    pager.touch(canary.va);
  };
  std::vector<Program::Frame> frames;
  for (const Model& model : kModels) {
    const Bytes pages = round_up(model.bytes, kPage) / kPage;
    Bytes next = 0;
    for (int pass = 0; pass < model.passes; ++pass) {
      for (Bytes page = 0; page < pages; ++page) {
        if (frames.size() < pages && pager.free_mib() > 512 + 64) {
          frames.push_back(pager.map(kPage));
          next = frames.size() - 1;
        }
        const cu::DevicePtr va = frames[next++ % frames.size()].va;
        ASSERT_OK(cuda.memcpy_htod_async(va, contents(), kPage, pager.stream()));
        pager.submit(va);
        world.others_turn();
      }
    }
    ASSERT_OK(cuda.stream_synchronize(pager.stream()));
    drain();
    for (std::size_t i = 0; i < frames.size() / 2; ++i) pager.unmap(frames[i]);
    frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(frames.size() / 2));
  }
}

TEST(Gt9Test, AChurningPagerIsCaughtInMostSeeds) {
  int h1 = 0;
  int h2 = 0;
  constexpr int kSeeds = 20;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    Gt9 world(static_cast<std::uint64_t>(seed));
    run_churning(world);
    const Hazards found = world.hazards();
    h1 += found.hits("H-1") > 0 ? 1 : 0;
    h2 += found.hits("H-2") > 0 ? 1 : 0;
    EXPECT_GT(world.destroys(), 50u);
    EXPECT_GT(world.evictions(), 0u);
  }
  EXPECT_GT(h1, kSeeds / 2);
  EXPECT_GT(h2, kSeeds / 2);
}

TEST(Gt9Test, TheProtocolIsNot) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Gt9 world(seed);
    run_recycling(world);
    const Hazards found = world.hazards();
    std::uint64_t windows = 0;
    for (const char* rule : {"H-1", "H-2", "H-3", "H-4", "H-6", "H-8", "H-9", "H-10", "H-11"}) {
      windows += found.hits(rule) + found.exposures(rule);
    }
    EXPECT_EQ(windows, 0u) << "seed " << seed << "\n" << found.text();
    EXPECT_GT(world.destroys(), 50u);
    EXPECT_GT(world.evictions(), 0u);
  }
}

}  // namespace
}  // namespace tidegate::sim
