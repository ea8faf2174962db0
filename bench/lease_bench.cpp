// A lease and release of a resident block, on a non-default stream; the simulated card on real threads.
//
// The blocks are used by kernels before and after the timed loop, then all of them are retired, and the simulated card
// must have seen nothing freed under queued work (H-4) nor any other hazard; else the program ends with 1.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "src/base/thread_executor.h"
#include "src/driver/kernels.h"
#include "tests/support/seeded_model.h"
#include "tests/support/test_card.h"
#include "tidegate/pager.h"

namespace tidegate {
namespace {

constexpr std::size_t kBlocks = 128;
constexpr std::size_t kMostThreads = 2;
constexpr std::size_t kPerThread = kBlocks / kMostThreads;
constexpr Bytes kBlock = 256 * kKiB;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "lease_bench: %s\n", why.c_str());
  std::exit(1);
}
void must(cu::Status status, const char* what) {
  if (status != cu::kSuccess) stop(std::string(what) + ": status " + std::to_string(status));
}

class World {
 public:
  World() : card_(executor_, sim::load_profile("rtx3050-6g-linux").value(), 1) {
    model_ = std::make_unique<testkit::SeededModel>(card_.driver(), 1, std::vector<Bytes>(kBlocks, kBlock), true);
    auto pager = Pager::create(card_, {.budget = 2 * kBlocks * kBlock, .frame_bytes = 4 * kMiB});
    if (!pager) stop(pager.error().message);
    pager_ = std::move(pager).value();
    auto id = pager_->add_model(model_->spec("leased"));
    if (!id) stop(id.error().message);
    model_->added(*pager_, *id);
    auto kernels = driver::CheckKernels::load(card_.driver());
    if (!kernels) stop(kernels.error().message);
    kernels_ = *kernels;
    for (cu::Stream& stream : streams_) must(card_.driver().stream_create(&stream, cu::kStreamNonBlocking), "a stream");
    // The first pass is learned, the second ends the learning; then the plan task needs a moment.
    for (int pass = 0; pass < 4; ++pass) {
      pager_->begin_pass(*id);
      use_all();
      must(card_.driver().stream_synchronize(streams_[0]), "a pass");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    waits_ = pager_->stats().waits;
  }

  // Retires everything, by the budget first and then all of it.
  void finish() {
    use_all();
    const std::uint64_t waited = pager_->stats().waits - waits_;
    if (waited != 0) stop(std::to_string(waited) + " leases waited: the blocks were not resident");
    if (auto lowered = pager_->set_budget(pager_->stats().floor); !lowered) stop(lowered.error().message);
    if (auto removed = pager_->remove_model(model_->id()); !removed) stop(removed.error().message);
    if (auto sound = pager_->check_invariants(); !sound) stop(sound.error().message);
    pager_.reset();
    model_.reset();
    card_.machine().advance();
    const sim::Hazards hazards = card_.machine().hazards();
    if (hazards.total_hits() + hazards.total_exposures() != 0) stop(hazards.text());
  }

  Pager& pager() { return *pager_; }
  cu::Stream stream(std::size_t thread) const { return streams_[thread]; }
  BlockId block(std::size_t index) const { return model_->blocks()[index].id; }
  void make_current() {
    if (auto made = card_.make_current(); !made) stop(made.error().message);
  }

 private:
  void use_all() {
    for (const testkit::SeededModel::Block& block : model_->blocks()) {
      auto lease = pager_->lease({&block.id, 1}, streams_[0]);
      if (!lease) stop(lease.error().message);
      must(kernels_.launch_work(card_.driver(), lease->address(0), block.bytes, 2000, streams_[0]), "a kernel");
    }
  }

  base::ThreadExecutor executor_;
  testkit::TestCard card_;
  std::unique_ptr<testkit::SeededModel> model_;
  std::unique_ptr<Pager> pager_;
  driver::CheckKernels kernels_;
  cu::Stream streams_[kMostThreads] = {};
  std::uint64_t waits_ = 0;
};

std::unique_ptr<World> world;

void set_up(const benchmark::State&) { world = std::make_unique<World>(); }
void tear_down(const benchmark::State&) {
  world->finish();
  world.reset();
}

void BM_LeaseAndRelease(benchmark::State& state) {
  const auto thread = static_cast<std::size_t>(state.thread_index());
  world->make_current();
  Pager& pager = world->pager();
  const cu::Stream stream = world->stream(thread);
  BlockId blocks[kPerThread];
  for (std::size_t i = 0; i < kPerThread; ++i) blocks[i] = world->block(thread * kPerThread + i);
  std::size_t next = 0;
  for (auto unused : state) {
    (void)unused;
    auto lease = pager.lease({&blocks[next], 1}, stream);
    if (!lease) stop(lease.error().message);
    benchmark::DoNotOptimize(lease->address(0));
    lease->release();
    next = (next + 1) % kPerThread;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_LeaseAndRelease)->Setup(set_up)->Teardown(tear_down)->Threads(1)->UseRealTime();
BENCHMARK(BM_LeaseAndRelease)->Setup(set_up)->Teardown(tear_down)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace tidegate
