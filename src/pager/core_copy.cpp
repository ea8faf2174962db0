#include <algorithm>

#include <fmt/format.h>

#include "src/driver/errors.h"
#include "src/pager/core.h"
#include "src/pager/insist.h"

namespace tidegate {

using pager::kNowhere;
using pager::Role;

namespace {
// A request that was passed over this often by younger ones closes the gate for leases of resident blocks too.
constexpr int kPatience = 64;
constexpr base::Nanos kRetry = 50 * base::kMicrosecond;  // until the driver or the card may have moved on
constexpr std::uint64_t kMostAhead = 2;                  // copies under way when the link would else stand idle
}  // namespace

base::Nanos PagerCore::copy_step(Nanos now) {
  const base::Lock lock(mutex_);
  if (failure_) return base::kNever;
  bool retry = false;
  if (arrivals_.unrecorded()) {
    std::uint64_t sequence = 0;
    if (!arrivals_.has_room() || arrivals_.record(&sequence) != cu::kSuccess) retry = true;
  }
  if (!borrowed_.empty()) {
    arrivals_.poll();
    give_back_bytes(false);
  }
  if (leaving_gate_) return retry ? now + kRetry : base::kNever;  // open_gate() wakes this task
  while (serve_requests(retry)) {
  }
  if (failure_) return base::kNever;
  if (active_ != nullptr && !active_->removed) {
    if (active_->misplaced > 0) settle_misplaced(*active_, retry);
    prefetch(*active_, retry);
    if (active_->source != nullptr) read_ahead(*active_);
  }
  return retry || !requests_.empty() || !borrowed_.empty() ? now + kRetry : base::kNever;
}

// Grants what can be granted, oldest first; true if anything was.
bool PagerCore::serve_requests(bool& retry) {
  bool granted = false;
  bool first = true;
  bool stuck = false;
  for (auto it = requests_.begin(); it != requests_.end();) {
    Request& request = **it;
    if (!first && gate_.load() && request.caller->held.load() == 0) {  // the oldest one's turn
      ++it;
      continue;
    }
    Fetch outcome = Fetch::kNoRoom;
    if (const Bytes room = class_room(*models_[block_at(request.blocks[0]).model]); request.bytes > room) {
      request.error = too_large(request.bytes, room);  // the room shrank since it came
    } else {
      outcome = try_grant(request, first ? Urgency::kDemand : Urgency::kPrefetch);
    }
    if (failure_) return false;  // all requests are answered and gone
    if (outcome == Fetch::kIssued || request.error) {
      request.granted = outcome == Fetch::kIssued;
      granted = true;
      it = requests_.erase(it);
      if (!first) ++requests_.front()->passed_over;
      continue;
    }
    if (outcome == Fetch::kLater) retry = true;
    if (first) stuck = outcome == Fetch::kNoRoom;
    first = false;
    ++it;
  }
  if (stuck && !granted) refuse_deadlocked();
  // Leases of resident blocks pass it by without being seen here: a failed attempt counts as one.
  if (!granted && !requests_.empty()) ++requests_.front()->passed_over;
  gate_.store(!requests_.empty() && requests_.front()->passed_over > kPatience);
  if (requests_.empty()) attention_.store(false);
  if (granted) executor_.notify_all(granted_);
  return granted && !requests_.empty();
}

// Nobody who holds a lease is running: each waits in the queue. What could still help is to serve a holder first;
// if even that fails, one of them is told.
void PagerCore::refuse_deadlocked() {
  {
    const base::Lock lock(callers_mutex_);
    bool held = false;
    for (const auto& caller : callers_) {
      if (caller->held.load() == 0) continue;
      held = true;
      if (caller->waiting == 0) return;
    }
    if (!held) return;
  }
  const auto remove = [this](Request* request) {
    std::erase(requests_, request);
    executor_.notify_all(granted_);
  };
  for (Request* request : std::deque<Request*>(requests_)) {
    if (request->caller->held.load() == 0) continue;
    const Fetch outcome = try_grant(*request, Urgency::kDemand);
    if (outcome == Fetch::kLater || outcome == Fetch::kComing || failure_) return;
    if (outcome != Fetch::kIssued && !request->error) continue;
    request->granted = outcome == Fetch::kIssued;
    return remove(request);
  }
  for (auto it = requests_.rbegin(); it != requests_.rend(); ++it) {  // NOLINT(modernize-loop-convert): C++20 only
    Request* request = *it;
    if (request->caller->held.load() == 0) continue;
    request->error = Error{Errc::kWouldDeadlock,
                           "every holder of a lease waits for another lease, this caller too; "
                           "release first, or extend the lease that is held"};
    return remove(request);
  }
}

PagerCore::Fetch PagerCore::try_grant(Request& request, Urgency urgency) {
  std::size_t pinned = 0;
  const auto give_up = [&](Fetch outcome) {
    unpin(request.blocks.first(pinned));
    return outcome;
  };
  Bytes gathered_at = kNowhere;  // the last resort: the whole set side by side, from here on
  for (;;) {
    bool again = false;
    for (pinned = 0; pinned < request.blocks.size(); ++pinned) {
      const BlockId id = request.blocks[pinned];
      Block& block = block_at(id);
      if (block.try_lease()) continue;
      const std::uint64_t word = block.state.load();
      if ((word & pager::kDoomed) != 0) {
        // It must leave its frame first; a holder may have it nevertheless, for what he holds may be this block.
        if ((word & pager::kLeaseMask) != 0) {
          if (request.caller->held.load() == 0) return give_up(Fetch::kNoRoom);
          block.state.fetch_add(1, std::memory_order_acquire);
          continue;
        }
        if (!evict(id)) return give_up(Fetch::kLater);
      }
      Fetch outcome = supply(id, urgency);
      if (outcome == Fetch::kComing) {  // all that it lacks may be read side by side
        for (const BlockId other : request.blocks.subspan(pinned + 1)) {
          if (!block_at(other).resident()) (void)supply(other, urgency);
        }
        return give_up(outcome);
      }
      if (outcome == Fetch::kUnreadable) {
        request.error = std::exchange(unreadable_, std::nullopt);
        return give_up(outcome);
      }
      if (gathered_at == kNowhere) {
        outcome = fetch(id, urgency);
      } else {
        if (!frames_.usable(gathered_at, block.bytes) || !evict_range(gathered_at, block.bytes)) {
          return give_up(Fetch::kNoRoom);
        }
        outcome = arrivals_.has_room() ? outcome_of(issue_copy(block, id, gathered_at)) : Fetch::kLater;
        gathered_at += block.bytes;
      }
      if (outcome == Fetch::kNoRoom && urgency == Urgency::kDemand && gathered_at == kNowhere &&
          request.blocks.size() > 1) {
        // Nobody else's lease in the way? Then the set's own blocks are: gather them at the front of the room.
        unpin(request.blocks.first(pinned));
        pinned = 0;
        for (const auto& model : models_) {
          for (std::uint32_t i = 0; i < model->blocks.size(); ++i) {
            if (block_at(model->id_of(i)).leased()) return Fetch::kNoRoom;
          }
        }
        for (const BlockId member : request.blocks) evict(member);
        gathered_at = models_[block.model]->origin;
        again = true;
        break;
      }
      if (outcome == Fetch::kFailed) {
        request.error = failure_;
        return give_up(outcome);
      }
      if (outcome != Fetch::kIssued) return give_up(outcome);
      if (!block.try_lease()) return give_up(Fetch::kLater);
    }
    if (!again) break;
  }
  std::uint64_t latest = 0;
  for (const BlockId id : request.blocks) {
    Block& block = block_at(id);
    latest = std::max(latest, block.arrival);
    Model& model = *models_[block.model];
    if (model.plan.blocks[block.index].role == Role::kStreamed) advance_cursor(model, block.index);
  }
  const cu::Status status = arrivals_.make_wait(*request.stream, latest);
  if (status != cu::kSuccess) {
    request.error = driver::driver_error(driver_, status, "making a stream wait for a copy");
    return give_up(Fetch::kFailed);
  }
  activate(*models_[block_at(request.blocks[0]).model]);
  return Fetch::kIssued;
}

void PagerCore::activate(Model& model) {
  if (active_ == &model) return;
  active_ = &model;
  model.fetch = model.asked = model.cursor + 1;
  model.settled_at = 0;  // after another model's turn there is nothing left to move carefully
  for (std::uint32_t i = 0; i < model.blocks.size(); ++i) {  // what is left of its ring is not part of a prefetch
    Block& block = block_at(model.id_of(i));
    if (block.resident()) block.state.fetch_or(pager::kUsed);
  }
}

// The copies that the plan makes next, as far as their places are free.
void PagerCore::prefetch(Model& model, bool& retry) {
  const std::uint64_t last = model.cursor + model.uses.size();
  for (; model.fetch <= last; ++model.fetch) {
    const std::uint32_t index = model.uses[model.index_of(model.fetch)].block;
    Block& block = block_at(model.id_of(index));
    if (block.resident()) {
      // Still there from before, or shared with another use: it must stay until this use is over.
      if (!block.leased()) block.state.fetch_and(~pager::kUsed);
      continue;
    }
    Fetch outcome = supply(model.id_of(index), Urgency::kPrefetch);
    if (outcome == Fetch::kIssued) outcome = fetch(model.id_of(index), Urgency::kPrefetch);
    if (outcome == Fetch::kIssued) continue;
    if (outcome == Fetch::kNoRoom && model.plan.blocks[index].role == Role::kStreamed && model.absent > 0) {
      prefetch_resident(model, model.fetch + 1, retry);  // the ring is full; the link need not stand idle
    }
    retry = retry || outcome == Fetch::kLater;
    return;
  }
}

bool PagerCore::prefetch_resident(Model& model, std::uint64_t from, bool& retry) {
  const std::uint64_t last = model.cursor + model.uses.size();
  arrivals_.poll();
  for (std::uint64_t position = from; position <= last && model.absent > 0; ++position) {
    // What the ring needs next must not queue behind a long row of blocks that are needed later.
    if (arrivals_.issued() - arrivals_.done() >= kMostAhead) {
      retry = true;
      return false;
    }
    const std::uint32_t index = model.uses[model.index_of(position)].block;
    if (model.plan.blocks[index].role == Role::kStreamed || block_at(model.id_of(index)).resident()) continue;
    Fetch outcome = supply(model.id_of(index), Urgency::kPrefetch);
    if (outcome == Fetch::kIssued) outcome = fetch(model.id_of(index), Urgency::kPrefetch);
    if (outcome == Fetch::kIssued) continue;
    retry = retry || outcome == Fetch::kLater;
    return false;
  }
  return true;
}

// Where the plan wants the block now: at home, or where its next use passes through the ring.
Bytes PagerCore::planned_place(const Model& model, const Block& block) const {
  const pager::PlannedBlock& planned = model.plan.blocks[block.index];
  if (planned.role != Role::kStreamed) return model.origin + planned.home;
  const std::vector<std::uint32_t>& uses = model.uses_of[block.index];
  if (uses.empty()) return kNowhere;
  // The first use after the cursor in cyclic order.
  const std::size_t next = model.index_of(model.cursor + 1);
  auto it = std::lower_bound(uses.begin(), uses.end(), next);
  if (it == uses.end()) it = uses.begin();
  const std::uint32_t ring_use = model.plan.ring_use_of[*it];
  return ring_use == pager::kNoRingUse ? kNowhere : model.origin + model.plan.ring_uses[ring_use].offset;
}

PagerCore::Fetch PagerCore::fetch(BlockId id, Urgency urgency) {
  Block& block = block_at(id);
  Model& model = *models_[block.model];
  if (!arrivals_.has_room()) return Fetch::kLater;
  Bytes place = planned_place(model, block);
  const auto free = [&](Bytes offset) {
    return offset != kNowhere && frames_.usable(offset, block.bytes) &&
           claimable(offset, block.bytes, model, urgency, pager::kNoBlock);
  };
  if (!free(place)) {
    // While a new plan settles, a planned place may be kept by what this pass has still to use.
    if (urgency == Urgency::kPrefetch && (model.cursor >= model.settled_at || model.searched_at == changes_)) {
      return Fetch::kNoRoom;
    }
    place = cheapest_place(model, block.bytes, urgency);
    if (place == kNowhere) {
      model.searched_at = changes_;  // the same search would find the same
      if (urgency == Urgency::kPrefetch) return Fetch::kNoRoom;
      // Frames that are still being mapped will make room without anybody's release.
      return frames_.held_bytes() < std::min(budget_, ceiling_) / frames_.frame_bytes() * frames_.frame_bytes() &&
                     frames_.held() < wanted_frames()
                 ? Fetch::kLater
                 : Fetch::kNoRoom;
    }
  }
  if (!evict_range(place, block.bytes)) return Fetch::kNoRoom;
  return outcome_of(issue_copy(block, id, place));
}

PagerCore::Fetch PagerCore::outcome_of(cu::Status status) {
  if (status == cu::kSuccess) return Fetch::kIssued;
  if (pager::is_transient(status)) {
    ++counters_.retries;
    return Fetch::kLater;
  }
  fail(driver::driver_error(driver_, status, "copying a block to the card"));
  return Fetch::kFailed;
}

// Whether everything that lies in the range may leave it now.
bool PagerCore::claimable(Bytes offset, Bytes bytes, const Model& model, Urgency urgency, BlockId moving) const {
  return space_->all_of(offset, bytes, [&](Bytes at, const pager::Segment& segment) {
    if (segment.block == pager::kNoBlock || segment.block == moving) return true;
    const Block& tenant = block_at(segment.block);
    const std::uint64_t word = tenant.state.load(std::memory_order_acquire);
    if ((word & pager::kLeaseMask) != 0) return false;
    if (urgency == Urgency::kDemand || tenant.model != model.id) return true;
    const pager::PlannedBlock& planned = model.plan.blocks[tenant.index];
    // What stays and is at home stays; all else goes once this pass has used it.
    if (planned.role != Role::kStreamed && at == model.origin + planned.home) return false;
    return (word & pager::kUsed) != 0;
  });
}

bool PagerCore::evict_range(Bytes offset, Bytes bytes) {
  std::vector<BlockId> tenants;
  space_->all_of(offset, bytes, [&](Bytes, const pager::Segment& segment) {
    if (segment.block != pager::kNoBlock) tenants.push_back(segment.block);
    return true;
  });
  for (const BlockId tenant : tenants) {
    if (!relocate(tenant, offset, bytes) && block_at(tenant).resident() && !evict(tenant)) return false;
  }
  return true;
}

// The range of the model's room whose emptying loses least; kNowhere if leases cut every range short.
Bytes PagerCore::cheapest_place(const Model& model, Bytes bytes, Urgency urgency) const {
  const Bytes end = model.origin + class_room(model);
  Bytes best = kNowhere;
  double best_cost = 0;
  const auto consider = [&](Bytes start) {
    if (start < model.origin || start + bytes > end || !frames_.usable(start, bytes)) return;
    if (urgency == Urgency::kPrefetch && !claimable(start, bytes, model, urgency, pager::kNoBlock)) return;
    double cost = 0;
    const bool possible = space_->all_of(start, bytes, [&](Bytes, const pager::Segment& segment) {
      if (segment.block == pager::kNoBlock) return true;
      const Block& tenant = block_at(segment.block);
      const std::uint64_t word = tenant.state.load(std::memory_order_acquire);
      if ((word & pager::kLeaseMask) != 0) return false;
      double worth = 1;  // another model's: dropped when it is its turn
      if (models_[tenant.model].get() == active_) {
        const Role role = active_->plan.blocks[tenant.index].role;
        worth = role == Role::kNeeded ? 8 : role == Role::kCached ? 2 : (word & pager::kUsed) != 0 ? 0.1 : 4;
      }
      cost += worth * static_cast<double>(segment.bytes);
      return best == kNowhere || cost < best_cost;
    });
    if (!possible || (best != kNowhere && cost >= best_cost)) return;
    best = start;
    best_cost = cost;
  };
  for (const auto& [offset, segment] : space_->segments()) {
    consider(offset);
    if (offset + segment.bytes >= bytes) consider(offset + segment.bytes - bytes);
  }
  for (std::size_t slot = 0; slot < frames_.slots(); ++slot) consider(slot * frames_.frame_bytes());
  return best;
}

bool PagerCore::evict(BlockId id) {
  Block& block = block_at(id);
  if (!block.try_drop()) return false;
  Model& model = *models_[block.model];
  space_->vacate(block.address - frames_.base(), take_uses(block), block.arrival);
  if (model.plan.blocks[block.index].role != Role::kStreamed) ++model.absent;
  ++counters_.evictions;
  ++changes_;
  return true;
}

UseSet PagerCore::take_uses(Block& block) {
  UseSet uses;
  const base::Lock lock(uses_mutex_);
  const auto add = [&](pager::Use use) {
    if (!streams_.complete(use)) uses.add(use);
  };
  if (const std::uint64_t word = block.last_use.exchange(0, std::memory_order_acq_rel); word != 0) {
    add(pager::unpack(word));
  }
  for (const pager::Use use : block.more_uses) add(use);
  block.more_uses.clear();
  return uses;
}

cu::Status PagerCore::wait_for_pieces(const std::vector<Piece>& pieces) {
  cu::Status status = cu::kSuccess;
  for (const Piece& piece : pieces) {
    piece.uses.for_each([&](pager::Use use) {
      if (status == cu::kSuccess) status = streams_.wait_on(arrivals_.stream(), use);
    });
  }
  return status;
}

// Submits the block's copy to [offset, offset + bytes), which is free. Each piece waits for its own earlier tenants, so
// the link starts on what is free already. On failure the range is free again and the block not resident.
cu::Status PagerCore::issue_copy(Block& block, BlockId id, Bytes offset) {
  Model& model = *models_[block.model];
  std::vector<Piece> pieces = space_->place(offset, block.bytes, id);
  UseSet pending;
  for (const Piece& piece : pieces) pending.add(piece.uses);
  const auto turn = [this](const Piece& piece) {  // 0: free now; else the latest epoch that it waits for
    std::uint64_t latest = 0;
    piece.uses.for_each([&](pager::Use use) {
      if (!streams_.complete(use)) latest = std::max(latest, use.epoch);
    });
    return latest;
  };
  std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) { return turn(a) < turn(b); });
  const Bytes source_end = offset + model.source_bytes[block.index];
  const std::byte* const source = bytes_of(model, block.index, arrivals_.issued() + 1);
  cu::Status status = cu::kSuccess;
  for (std::size_t i = 0; i < pieces.size() && status == cu::kSuccess;) {
    const std::uint64_t group = turn(pieces[i]);
    const Bytes begin = pieces[i].offset;
    Bytes end = begin;
    for (; i < pieces.size() && pieces[i].offset == end && turn(pieces[i]) == group && status == cu::kSuccess; ++i) {
      end += pieces[i].bytes;
      pieces[i].uses.for_each([&](pager::Use use) {
        if (status == cu::kSuccess) status = streams_.wait_on(arrivals_.stream(), use);
      });
    }
    end = std::min(end, source_end);
    if (status != cu::kSuccess || end <= begin) continue;
    status =
        driver_.memcpy_htod_async(frames_.base() + begin, source + (begin - offset), end - begin, arrivals_.stream());
    ++counters_.copies;
    model.copied += end - begin;
  }
  std::uint64_t sequence = arrivals_.issued() + 1;  // if nothing is recorded now, the next record covers it
  if (status == cu::kSuccess) status = arrivals_.record(&sequence);
  if (status != cu::kSuccess) {
    arrivals_.note_unrecorded();
    space_->vacate(offset, std::move(pending), sequence);
    return status;
  }
  became_resident(block, id, offset, sequence);
  return cu::kSuccess;
}

void PagerCore::became_resident(Block& block, BlockId, Bytes offset, std::uint64_t sequence) {
  Model& model = *models_[block.model];
  const bool streams = model.plan.blocks[block.index].role == Role::kStreamed;
  block.address = frames_.base() + offset;
  block.arrival = sequence;
  if (!streams) --model.absent;
  const bool home = !streams && offset == model.origin + model.plan.blocks[block.index].home;
  if (!streams && !home) ++model.misplaced;
  block.state.fetch_or(pager::kResident | (home ? 0 : pager::kRing), std::memory_order_release);
}

// The block's next use after the cursor has begun. What the pass skipped on the way is not waited for any more.
void PagerCore::advance_cursor(Model& model, std::uint32_t index) {
  const std::vector<std::uint32_t>& uses = model.uses_of[index];
  if (uses.empty()) return;
  const std::uint64_t n = model.uses.size();
  const std::size_t next = model.index_of(model.cursor + 1);
  auto it = std::lower_bound(uses.begin(), uses.end(), next);
  const bool wraps = it == uses.end();
  if (wraps) it = uses.begin();
  const std::uint64_t ahead = *it + (wraps ? n : 0) - next + 1;
  if (model.index_of(model.cursor == 0 ? n : model.cursor) == *it) return;  // the same use again
  std::size_t passed_over = 0;                                              // streamed uses between
  for (std::uint64_t skipped = 1; skipped < ahead; ++skipped) {
    if (model.plan.ring_use_of[model.index_of(model.cursor + skipped)] != pager::kNoRingUse) ++passed_over;
  }
  if (passed_over > 2 && passed_over * 2 > model.plan.ring_uses.size()) {
    ++model.surprises;  // a step back rather than a leap over half of what streams
    return;
  }
  for (std::uint64_t skipped = 1; skipped < ahead; ++skipped) {
    const std::uint32_t passed = model.uses[model.index_of(model.cursor + skipped)].block;
    Block& block = block_at(model.id_of(passed));
    if ((block.state.load() & (pager::kRing | pager::kUsed)) == pager::kRing && !block.leased()) {
      block.state.fetch_or(pager::kUsed);
      ++model.surprises;
    }
  }
  model.cursor += ahead;
  model.fetch = std::max(model.fetch, model.cursor + 1);
}

}  // namespace tidegate
