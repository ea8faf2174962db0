// Tidegate's pager on the same trace of needs.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bench/trial/contestant.h"
#include "src/base/executor.h"
#include "tidegate/pager.h"

namespace tidegate::trial {
namespace {

class TidegatePager final : public Contestant {
 public:
  explicit TidegatePager(const Setting& setting)
      : needs_(setting.needs), gpu_(setting.gpu), pins_(setting.pins), ids_(needs_.models.size()) {
    for (const Node& node : needs_.nodes) temporaries_ = std::max(temporaries_, node.peak_temporaries);
    budget_ = affordable(0, temporaries_);
    auto pager = Pager::create(gpu_.card(), {.budget = budget_});
    if (!pager) fail("the pager", pager.error().message.c_str());
    pager_ = std::move(pager).value();
  }
  TidegatePager(const TidegatePager&) = delete;
  TidegatePager& operator=(const TidegatePager&) = delete;
  ~TidegatePager() override {
    gpu_.synchronize_compute();
    pager_.reset();  // before the host memory that it copies from
  }

  void load(const Node& node) override {
    pins_.begin(node.model);
    for (std::size_t module = 0; module < needs_.models[node.model].modules.size(); ++module) {
      (void)pins_.pinned(node.model, module);
    }
    if (!ids_[node.model]) add(node);
  }

  void begin_pass(const Node& node) override { pager_->begin_pass(*ids_[node.model]); }

  driver::DevicePtr begin_use(const Node& node, const Use& use) override {
    follow_the_card();
    const WeightPlace place = pager_->place(*ids_[node.model], use.module);
    ++tally_.asked;
    auto lease = pager_->lease({&place.block, 1}, gpu_.compute());
    if (!lease) {
      ++tally_.failures;
      ++tally_.said[lease.error().message];
      return 0;
    }
    lease_ = std::move(lease).value();
    return lease_.address(0) + place.offset;
  }

  void end_use(const Node&, const Use&) override { lease_.release(); }
  void end_pass(const Node&) override { pager_->end_step(gpu_.compute()); }
  void end_node(const Node&) override { gpu_.synchronize_compute(); }

 private:
  // What may be held, given what is: all that the driver calls free, less what stays free for others.
  Bytes affordable(Bytes held, Bytes reserve) {
    const Bytes have = held + gpu_.free_bytes();
    const Bytes keep = standing_allowance(gpu_.card().total_bytes()) + reserve;
    if (have <= keep) fail("the card", "has no room beside the temporaries and the standing allowance");
    return have - keep;
  }

  // The pool of temporaries grows and shrinks beside the pager; its budget follows, as a governor's would.
  void follow_the_card() {
    const base::Nanos now = gpu_.card().executor().now();
    if (now < look_at_) return;
    look_at_ = now + kLookEvery;
    const Bytes may = affordable(pager_->stats().held, 0);
    const bool lower = may < budget_;
    if (!lower && may < budget_ + kRise) return;
    if (auto done = pager_->set_budget(may); !done) {
      ++tally_.said[done.error().message];
      return;
    }
    budget_ = may;
  }

  void add(const Node& node) {
    const Model& source = needs_.models[node.model];
    std::vector<double> cost(source.modules.size(), 0);
    for (const Use& use : node.uses) cost[use.module] += static_cast<double>(use.work_ns);
    ModelSpec spec;
    spec.name = source.name;
    for (std::size_t module = 0; module < source.modules.size(); ++module) {
      const Module& what = source.modules[module];
      spec.weights.push_back({what.name, what.bytes, pins_.at(node.model, module), cost[module]});
    }
    auto id = pager_->add_model(std::move(spec));
    if (!id) fail("a model", id.error().message.c_str());
    ids_[node.model] = id.value();
  }

  static constexpr base::Nanos kLookEvery = 20 * base::kMillisecond;
  static constexpr Bytes kRise = 128 * kMiB;  // less is not worth a new plan

  const Needs& needs_;
  Gpu& gpu_;
  Pins& pins_;
  std::vector<std::optional<ModelId>> ids_;  // by model
  std::unique_ptr<Pager> pager_;
  Bytes temporaries_ = 0;  // the most that a node has at once, as far as its shapes tell
  Bytes budget_ = 0;
  base::Nanos look_at_ = 0;
  Lease lease_;
};

}  // namespace

std::unique_ptr<Contestant> make_tidegate(const Setting& setting) { return std::make_unique<TidegatePager>(setting); }

}  // namespace tidegate::trial
