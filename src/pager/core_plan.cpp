#include <algorithm>

#include <fmt/format.h>

#include "src/pager/core.h"

namespace tidegate {

using pager::Role;
using State = pager::Frames::State;

namespace {
constexpr base::Nanos kEventPoll = 200 * base::kMicrosecond;  // until a learned pass's events have passed
}  // namespace

namespace {

// Repeated uses that cannot need a copy are joined with the use before: of a pack, which stays, and of a block that was
// the latest one anyway.
std::vector<pager::PlanUse> joined(const std::vector<pager::PlanUse>& uses,
                                   const std::vector<pager::PlanBlock>& blocks) {
  std::vector<pager::PlanUse> result;
  std::vector<bool> seen(blocks.size(), false);
  for (const pager::PlanUse& use : uses) {
    const bool again = seen[use.block] && (blocks[use.block].keep || result.back().block == use.block);
    if (again) {
      result.back().compute += use.compute;
    } else {
      result.push_back(use);
    }
    seen[use.block] = true;
  }
  return result;
}

}  // namespace

void PagerCore::index_uses(Model& model) {
  model.uses_of.assign(model.blocks.size(), {});
  for (std::uint32_t u = 0; u < model.uses.size(); ++u) model.uses_of[model.uses[u].block].push_back(u);
}

// Each priority class has its part of the arena: the highest at the end, the lowest at the front. A class gets what its
// largest model needs, as long as the classes below keep their floor.
void PagerCore::partition() {
  if (!space_) return;
  std::vector<int> classes;
  for (const auto& model : models_) {
    if (!model->removed) classes.push_back(model->priority);
  }
  std::sort(classes.begin(), classes.end(), std::greater<>());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  const Bytes frame = frames_.frame_bytes();
  const Bytes total = options_.mode == Mode::kStatic ? frames_.slots() * frame : wanted_frames() * frame;
  Bytes end = total;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Bytes wanted = 0;
    for (const auto& model : models_) {
      if (!model->removed && model->priority == classes[i]) wanted = std::max(wanted, model->bytes);
    }
    wanted = round_up(wanted, frame);
    const Bytes below = std::min<Bytes>(end, (classes.size() - 1 - i) * floor_bytes());
    const Bytes share = i + 1 == classes.size() ? end : std::min(end - below, wanted);
    // Where the budget has no floor for every class they overlap: with less than its floor a class could not run.
    const Bytes room = std::max(share, std::min({total, floor_bytes(), wanted}));
    const Bytes origin = end - std::min(end, room);
    for (const auto& model : models_) {
      if (model->removed || model->priority != classes[i]) continue;
      if (model->origin != origin || model->plan_budget != room) {
        model->origin = origin;
        model->plan_budget = room;
        want_replan(*model);
      }
    }
    end = origin;
  }
}

Bytes PagerCore::class_room(const Model& model) const { return model.plan_budget; }

PlanInput PagerCore::plan_input(const Model& model) const {
  PlanInput input;
  input.blocks = model.blocks;
  input.uses = model.uses;
  input.budget = class_room(model);
  input.link_bytes_per_ns = link_bytes_per_ns_;
  input.copy_cost = copy_cost_;
  input.policy = options_.policy;
  if (!model.learned) input.expected_cost = model.expected_cost;
  return input;
}

void PagerCore::want_replan(Model& model) {
  model.replan_wanted = true;
  if (tasks_running_) executor_.wake(plan_task_);
}

void PagerCore::install(Model& model, pager::Plan plan) {
  model.plan = std::move(plan);
  ++model.plan_generation;
  model.replan_wanted = false;
  model.absent = 0;
  model.misplaced = 0;
  for (std::uint32_t i = 0; i < model.blocks.size(); ++i) {
    Block& block = block_at(model.id_of(i));
    const bool streams = model.plan.blocks[i].role == Role::kStreamed;
    if (!block.resident()) {
      if (!streams) ++model.absent;
      continue;
    }
    const bool misplaced = !streams && block.address != frames_.base() + model.origin + model.plan.blocks[i].home;
    if (misplaced) ++model.misplaced;
    if (!streams && !misplaced) {
      block.state.fetch_and(~(pager::kRing | pager::kUsed));
      continue;
    }
    // What lies where it will not stay is kept until this pass has used it: then it costs no copy to let it go.
    const std::vector<std::uint32_t>& uses = model.uses_of[i];
    const std::uint64_t done = model.cursor % model.uses.size();
    const bool used = uses.empty() || (done != 0 && uses.back() < done);
    block.state.fetch_and(~pager::kUsed);
    block.state.fetch_or(pager::kRing | (used ? pager::kUsed : 0));
  }
  model.fetch = model.cursor + 1;
  if (model.plan_generation > 1) model.settled_at = model.cursor + 2 * model.uses.size();
  if (tasks_running_) executor_.wake(copy_task_);
}

// Under mutex_, together with the plan that was made for it.
void PagerCore::adopt_order(Model& model, std::vector<pager::PlanUse> uses) {
  const std::uint64_t before = model.uses.size();
  model.learned_uses.clear();
  model.uses = std::move(uses);
  model.learned = true;
  index_uses(model);
  // Keep the number of passes that are over; within a pass of another length there is no place to keep.
  if (model.uses.size() != before) model.cursor = (model.cursor + before - 1) / before * model.uses.size();
}

// Plans are made without the lock, from copies, and installed if they are still wanted.
base::Nanos PagerCore::plan_step(Nanos now) {
  Nanos next = base::kNever;
  mutex_.lock();
  for (std::size_t m = 0; m < models_.size(); ++m) {  // NOLINT(modernize-loop-convert): it may grow meanwhile
    Model& model = *models_[m];
    if (model.removed) continue;
    if (model.learner != nullptr && model.learner->finished()) {
      if (!model.learner->ready()) {
        next = std::min(next, now + kEventPoll);
      } else {
        // The order in force stays until its plan is there: the copy task reads both together.
        model.learned_uses = joined(model.learner->result(), model.blocks);
        model.learner.reset();
        model.replan_wanted = true;
      }
    }
    if (!model.replan_wanted) continue;
    model.replan_wanted = false;
    const Bytes budget = class_room(model);
    const Bytes origin = model.origin;
    const bool learned = !model.learned_uses.empty();
    const std::vector<pager::PlanUse> uses = learned ? model.learned_uses : model.uses;
    const pager::Plan current = model.plan;
    PlanInput input = plan_input(model);
    input.uses = uses;
    if (learned) input.expected_cost = {};
    if (!current.blocks.empty() && model.installed_origin == origin) input.current = &current;
    mutex_.unlock();
    pager::Plan plan = pager::make_plan(input);
    mutex_.lock();
    ++counters_.replans;
    if (model.removed || class_room(model) != budget || model.origin != origin) {
      model.replan_wanted = true;  // the budget moved meanwhile: once more
      next = now;
      continue;
    }
    if (learned) adopt_order(model, uses);
    model.installed_origin = origin;
    install(model, std::move(plan));
  }
  mutex_.unlock();
  return next;
}

Result<void> PagerCore::check_invariants() {
  const base::Lock lock(mutex_);
  const auto broken = [](std::string text) { return Error{Errc::kInvalidArgument, std::move(text)}; };
  if (!space_) return {};
  Bytes position = 0;
  std::size_t placed = 0;
  for (const auto& [offset, segment] : space_->segments()) {
    if (offset != position) return broken(fmt::format("a gap in the address map at {}", position));
    if (segment.bytes == 0) return broken(fmt::format("an empty segment at {}", offset));
    position += segment.bytes;
    if (segment.block == pager::kNoBlock) continue;
    ++placed;
    const Block& block = block_at(segment.block);
    if (!block.resident()) return broken(fmt::format("block {} has a place and is not resident", segment.block));
    if (block.bytes != segment.bytes || block.address != frames_.base() + offset) {
      return broken(fmt::format("block {} does not lie where it says", segment.block));
    }
    const Bytes frame = frames_.frame_bytes();
    for (Bytes slot = offset / frame; slot <= (offset + segment.bytes - 1) / frame; ++slot) {
      const State state = frames_.state(slot);
      if (state != State::kMapped && state != State::kCondemned) {
        return broken(fmt::format("block {} lies in frame {}, which is not mapped", segment.block, slot));
      }
    }
  }
  std::size_t resident = 0;
  for (const auto& model : models_) {
    std::size_t absent = 0;
    for (std::uint32_t i = 0; i < model->blocks.size(); ++i) {
      const bool is = block_at(model->id_of(i)).resident();
      resident += is ? 1 : 0;
      if (!is && !model->plan.blocks.empty() && model->plan.blocks[i].role != Role::kStreamed) ++absent;
    }
    if (!model->removed && absent != model->absent) {
      return broken(fmt::format("model {} counts {} absent blocks and has {}", model->name, model->absent, absent));
    }
  }
  if (resident != placed) return broken(fmt::format("{} blocks are resident and {} have a place", resident, placed));
  // I4, in whole frames. What has become known since the frame task looked last is acted on first, as it would.
  plan_frames();
  std::size_t busy = 0;
  std::size_t going = 0;  // idle frames on their way out
  for (std::size_t slot = 0; slot < frames_.slots(); ++slot) {
    if (frames_.state(slot) == State::kUnmapped) continue;
    if (frame_is_busy(slot)) {
      ++busy;
    } else if (frames_.state(slot) == State::kReleasing || frames_.state(slot) == State::kCondemned ||
               // set_budget does not return before this one is done or gone
               (frames_.state(slot) == State::kMapping && budgets_being_set_ > 0)) {
      ++going;
    }
  }
  const std::size_t allowed = budget_ / frames_.frame_bytes();
  if (frames_.held() - going > std::max(allowed, busy)) {
    return broken(fmt::format("{} frames are held, {} allowed, {} busy, {} on their way out", frames_.held(), allowed,
                              busy, going));
  }
  return {};
}

}  // namespace tidegate
