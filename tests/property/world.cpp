#include "tests/property/world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/property/actor.h"

namespace tidegate::property {

using driver::FunctionId;
using testkit::SeededModel;
using testkit::TestCard;

namespace {

// Seeds of neighbours must not give similar worlds.
std::uint64_t scramble(std::uint64_t seed) { return base::mix64(seed * base::kGolden + 0x51DE6A7Eull); }

base::VirtualOptions executor_options(std::uint64_t seed) {
  base::Random random(scramble(seed) ^ 1);
  base::VirtualOptions options;
  options.seed = random.next();
  constexpr unsigned kPreempt[] = {0, 0, 8, 64, 256};
  options.preempt_per_1024 = kPreempt[random.below(5)];
  return options;
}

constexpr base::Nanos kPatience = 2 * base::kSecond;  // virtual: without any progress of any caller

}  // namespace

std::string describe(const Shape& shape, std::uint64_t seed, const std::string& why) {
  return std::string("world ") + shape.name + " seed " + std::to_string(seed) + ": " + why +
         "; rerun: TIDEGATE_SEED=" + std::to_string(seed) + " TIDEGATE_WORLDS=1 test_property --gtest_filter='*" +
         shape.name + "*'";
}

void stop_world(const Shape& shape, std::uint64_t seed, const std::string& why) {
  std::fprintf(stderr, "%s\n", describe(shape, seed, why).c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

// Ends the process when nobody gets on: a livelock has no deadlock to be found.
class World::Watchdog final : public base::Task {
 public:
  explicit Watchdog(World& world) : world_(world) {}
  const char* name() const override { return "watchdog"; }
  base::Nanos step(base::Nanos now) override {
    if (world_.progress_ != seen_) {
      seen_ = world_.progress_;
      since_ = now;
    }
    if (now - since_ > (world_.shape_.faults ? 10 * kPatience : kPatience))
      stop_world(world_.shape_, world_.seed_, "livelock: no caller gets on; " + world_.error_);
    return now + base::kSecond;
  }

 private:
  World& world_;
  std::uint64_t seen_ = 0;
  base::Nanos since_ = 0;
};

World::World(const Shape& shape, std::uint64_t seed)
    : shape_(shape), seed_(seed), random_(scramble(seed)), executor_(executor_options(seed)) {
  executor_.on_deadlock([this](const std::string& text) { stop_world(shape_, seed_, text); });
  const Bytes granularity = shape.real_granularity ? 2 * kMiB : 64 * kKiB;
  frame_ = granularity << random_.below(shape.real_granularity ? 1 : 4);
  small_weight_ = granularity >> (1 + random_.below(4));
  // One draw a statement: compilers evaluate arguments in orders of their own.
  const Bytes in_granules = granularity / 2 + random_.below(2 * granularity);
  largest_weight_ = std::max(in_granules, random_.below(2 * frame_));
  threads_ = 1 + random_.below(shape.most_threads);
  passes_ = 1 + random_.below(4);
  budgets_move_ = shape.mode == Mode::kDynamic && random_.below(4) != 0;
  priorities_ = random_.below(4) == 0;
  card_ = std::make_unique<TestCard>(
      executor_, testkit::small_profile(granularity, shape.real_granularity ? 1024 * kMiB : 128 * kMiB), seed,
      sim::MachineOptions{.trace = shape.trace});
  kernels_ = driver::CheckKernels::load(card_->raw()).value();
  if (shape.faults) choose_faults();
}

World::~World() = default;

void World::choose_faults() {
  constexpr FunctionId kKinds[] = {FunctionId::mem_create,
                                   FunctionId::mem_map,
                                   FunctionId::mem_set_access,
                                   FunctionId::mem_unmap,
                                   FunctionId::mem_release,
                                   FunctionId::mem_alloc,
                                   FunctionId::mem_free,
                                   FunctionId::mem_address_free,
                                   FunctionId::mem_address_reserve,
                                   FunctionId::mem_host_alloc,
                                   FunctionId::mem_free_host,
                                   FunctionId::memcpy_htod_async,
                                   FunctionId::memcpy_dtod_async,
                                   FunctionId::stream_create,
                                   FunctionId::stream_destroy,
                                   FunctionId::stream_synchronize,
                                   FunctionId::stream_wait_event,
                                   FunctionId::stream_is_capturing,
                                   FunctionId::event_create,
                                   FunctionId::event_destroy,
                                   FunctionId::event_record,
                                   FunctionId::event_query,
                                   FunctionId::event_synchronize,
                                   FunctionId::event_elapsed_time,
                                   FunctionId::thread_exchange_stream_capture_mode,
                                   FunctionId::ctx_set_current,
                                   FunctionId::mem_get_info,
                                   FunctionId::mem_get_allocation_granularity};
  constexpr unsigned kOdds[] = {100, 700, 3000, 10000};
  const unsigned odds = kOdds[random_.below(4)];
  const bool all = random_.below(3) == 0;
  for (const FunctionId kind : kKinds) {
    if (!all && random_.below(4) != 0) continue;
    card_->faulty().set_probability(kind, odds);
    mapping_faults_ = mapping_faults_ || kind == FunctionId::mem_create || kind == FunctionId::mem_map ||
                      kind == FunctionId::mem_set_access;
  }
}

bool World::excused(const Error& error) const {
  if (!shape_.faults) return false;
  return error.code == Errc::kDriver || error.code == Errc::kOutOfMemory || error.code == Errc::kHostOutOfMemory;
}

std::vector<Bytes> World::random_sizes(base::Random& random, std::size_t count) const {
  std::vector<Bytes> sizes;
  for (std::size_t i = 0; i < count; ++i) {
    switch (random.below(4)) {
      case 0:
        sizes.push_back(1 + random.below(std::min(small_weight_, largest_weight_)));
        break;
      case 1:
        sizes.push_back(1 + random.below(largest_weight_));
        break;
      default:
        sizes.push_back(1 + random.below(largest_weight_ / 2));
    }
  }
  return sizes;
}

std::string World::add_models() {
  const std::size_t count = 1 + random_.below(4);
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t weights = 1 + random_.below(m == 0 ? 60 : 25);
    const std::uint64_t contents = random_.next();
    const std::vector<Bytes> sizes = random_sizes(random_, weights);
    const bool pinned = random_.below(2) == 0;
    models_.push_back(std::make_unique<SeededModel>(card_->raw(), contents, sizes, pinned));
    const int priority = priorities_ ? static_cast<int>(random_.below(3)) : 0;
    for (int attempt = 0;; ++attempt) {
      auto added = pager_->add_model(models_[m]->spec("m" + std::to_string(m), priority));
      if (added) {
        models_[m]->added(*pager_, *added);
        break;
      }
      if (!excused(added.error()) || attempt > 200) return "add_model: " + added.error().message;
    }
  }
  return "";
}

std::string World::create() {
  // Packs are blocks of up to 4 MiB; the worlds' are smaller than what their small weights come to.
  const Bytes largest_block = std::max<Bytes>(round_up(largest_weight_, 512), 60 * round_up(small_weight_, 256));
  largest_set_ = largest_block + random_.below(3 * largest_block);
  floor_ = round_up(largest_set_ + largest_block, frame_);
  most_budget_ = floor_ + 60 * largest_weight_;
  first_budget_ = floor_ + (random_.below(3) == 0 ? 0 : random_.below(most_budget_ - floor_));
  PagerOptions options;
  options.budget = first_budget_;
  options.mode = shape_.mode;
  constexpr Policy kPolicies[] = {Policy::kScatter, Policy::kScatter, Policy::kTail, Policy::kLru};
  options.policy = kPolicies[random_.below(4)];
  options.frame_bytes = frame_;
  options.small_weight = small_weight_;
  const Bytes free = card_->free_bytes();
  card_->faulty().arm(shape_.faults);
  for (int attempt = 0;; ++attempt) {
    auto created = Pager::create(*card_, options);
    if (created) {
      pager_ = std::move(created).value();
      return "";
    }
    if (!excused(created.error()) || attempt > 400) return "create: " + created.error().message;
    if (card_->free_bytes() != free) {
      return "a pager that was not created keeps " + std::to_string(free - card_->free_bytes()) + " bytes";
    }
  }
}

void World::check_invariants() {
  if (const auto checked = pager_->check_invariants(); !checked) fail("check_invariants: " + checked.error().message);
  watch_excess();
}

// I4: what exceeds the budget only falls until the budget is set again.
void World::watch_excess() {
  const PagerStats stats = pager_->stats();
  if (setting_budget_ > 0) return;
  const Bytes excess = stats.held - std::min(stats.held, whole_frames(stats.budget));
  if (shape_.mode == Mode::kDynamic && excess_generation_ == budget_generation_ && excess > excess_) {
    fail("I4: the excess over the budget rose from " + std::to_string(excess_) + " to " + std::to_string(excess) +
         " bytes");
  }
  excess_ = excess;
  excess_generation_ = budget_generation_;
}

void World::set_budget(Bytes budget, bool must_work) {
  ++setting_budget_;
  const std::uint64_t generation = ++budget_generation_;
  const auto done = pager_->set_budget(budget);
  --setting_budget_;
  PagerStats stats = pager_->stats();
  ++progress_;
  if (!done) {
    if (done.error().code != Errc::kBelowFloor || must_work) fail("set_budget: " + done.error().message);
    if (whole_frames(budget) >= floor_) fail("a budget over the floor is refused: " + done.error().message);
    return;
  }
  if (setting_budget_ > 0 || budget_generation_ != generation) return;  // another caller sets it too
  // What became idle since the return is on its way out, one frame after the other; anything else is a violation.
  const base::Nanos deadline = executor_.now() + 5 * base::kMillisecond;
  const auto exceeds = [&] { return stats.held > std::max(whole_frames(budget), stats.busy); };
  while (exceeds() && executor_.now() < deadline && budget_generation_ == generation && !failed()) {
    check_invariants();
    executor_.sleep_until(executor_.now() + 20 * base::kMicrosecond);
    stats = pager_->stats();
  }
  if (budget_generation_ != generation) return;
  if (exceeds()) {
    fail("I4: after set_budget(" + std::to_string(budget) + ") " + std::to_string(stats.held) + " bytes are held, " +
         std::to_string(stats.busy) + " busy");
  }
  watch_excess();
}

std::string World::finish() {
  if (failed()) return error_;
  const bool faults_to_the_end = shape_.faults && random_.below(2) == 0;
  if (!faults_to_the_end) card_->faulty().arm(false);
  // All leases are gone: a budget at the floor is reached once the card is done, by itself.
  if (shape_.mode == Mode::kDynamic && !faults_to_the_end) {
    const PagerStats before = pager_->stats();
    set_budget(std::max(whole_frames(before.budget) / 2, floor_), true);
    for (int i = 0; i < 1000 && pager_->stats().held > whole_frames(pager_->stats().budget); ++i) {
      executor_.sleep_until(executor_.now() + base::kMillisecond);
      ++progress_;
    }
    if (pager_->stats().held > whole_frames(pager_->stats().budget)) fail("an idle pager keeps more than its budget");
    check_invariants();
  }
  for (const auto& model : models_) {
    if (random_.below(2) == 0) continue;
    if (const auto removed = pager_->remove_model(model->id()); !removed && !excused(removed.error())) {
      fail("remove_model: " + removed.error().message);
    }
    check_invariants();
    ++progress_;
  }
  pager_.reset();
  card_->faulty().arm(false);
  return error_;
}

std::string World::run() {
  Watchdog watchdog(*this);
  executor_.add(watchdog);
  const Bytes free = card_->free_bytes();
  std::string error = create();
  if (error.empty()) error = add_models();
  if (error.empty()) {
    std::vector<std::unique_ptr<Actor>> actors;
    std::vector<std::function<void()>> bodies;
    for (std::size_t i = 0; i < threads_; ++i) {
      actors.push_back(std::make_unique<Actor>(*this, random_.next()));
      bodies.emplace_back([actor = actors.back().get()] { actor->run(); });
    }
    if (threads_ == 1 && random_.below(2) == 0) {
      bodies[0]();
    } else {
      executor_.run_threads(bodies);
    }
    error = finish();
  }
  executor_.remove(watchdog);
  const bool clean_end = !shape_.faults || card_->faulty().failed() == 0;
  pager_.reset();
  card_->faulty().arm(false);
  if (error.empty() && clean_end && card_->free_bytes() != free) {
    error = "the pager left " + std::to_string(free - card_->free_bytes()) + " bytes behind";
  }
  models_.clear();
  const sim::Hazards hazards = card_->machine().hazards();
  if (error.empty() && hazards.total_hits() + hazards.total_exposures() > 0) error = hazards.text();
  if (error.empty() && card_->faulty().calls(FunctionId::ctx_synchronize) > 0)
    error = "I1: the pager synchronised the context";
  return error;
}

}  // namespace tidegate::property
