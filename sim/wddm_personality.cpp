#include "sim/wddm_personality.h"

#include <algorithm>

#include "sim/vidmm/vidmm.h"
#include "sim/world.h"
#include "src/driver/function_id.h"

namespace tidegate::sim {

namespace {

vidmm::Kind kind_of(HoldingKind kind) {
  switch (kind) {
    case HoldingKind::kContext:
      return vidmm::Kind::kContext;
    case HoldingKind::kForeign:
      return vidmm::Kind::kForeign;
    case HoldingKind::kVmm:
      return vidmm::Kind::kVmm;
    case HoldingKind::kPool:
      return vidmm::Kind::kPool;
    case HoldingKind::kPlain:
      break;
  }
  return vidmm::Kind::kPlain;
}

}  // namespace

WddmPersonality::WddmPersonality(World& world, CardState& card) : world_(world), card_(card) {
  adapter_.rules = card.profile.rules;
  adapter_.parameters = card.profile.wddm;
  adapter_.vram = card.profile.total;
  adapter_.capacity = card.profile.cuda_total();
  adapter_.slot = std::min(adapter_.slot, card.profile.granularity);
  adapter_.vram_gb_per_s = card.profile.vram_gb_per_s;
  adapter_.random = base::Random(base::mix64(world.seed ^ 0x57444D4D) + static_cast<std::uint64_t>(card.index));
}

const char* WddmPersonality::name() const { return card_.profile.personality.c_str(); }

vidmm::CallRef WddmPersonality::call_of(const Process& process) const {
  return {driver::name_of(process.last_call), process.counters.total_calls};
}

void WddmPersonality::report(Process& process) {
  for (vidmm::Finding& finding : adapter_.findings) {
    std::string what = std::move(finding.what);
    if (finding.earlier.index > 0) {
      what += " by call " + std::to_string(finding.earlier.index) + " " + finding.earlier.name;
    }
    world_.report(process, finding.rule, finding.exposure, std::move(what), finding.bugcheck);
  }
  adapter_.findings.clear();
}

cu::Status WddmPersonality::create(Process& process, Holding& holding, base::Nanos now) {
  vidmm::Client& client = vidmm::client_of(adapter_, process.id());
  holding.id = vidmm::create(adapter_, client, kind_of(holding.kind), holding.bytes, call_of(process), now);
  if (holding.id == 0) return cu::kOutOfMemory;
  card_.charge(process, holding.bytes);
  if (holding.kind == HoldingKind::kContext) vidmm::begin_context(adapter_, client);
  return cu::kSuccess;
}

void WddmPersonality::destroy(Process& process, const Holding& holding, base::Nanos now) {
  vidmm::Client& client = vidmm::client_of(adapter_, process.id());
  if (holding.kind == HoldingKind::kContext && --client.contexts == 0) {
    vidmm::end_device(adapter_, client, process.host, call_of(process), now);
  }
  vidmm::destroy(adapter_, client, holding.id, process.host, call_of(process), now);
  card_.discharge(process, holding.bytes);
  if (holding.kind == HoldingKind::kContext) vidmm::end_context(adapter_, client);
  report(process);
}

bool WddmPersonality::resize(Process& process, Holding& holding, Bytes bytes, base::Nanos now) {
  vidmm::Client& client = vidmm::client_of(adapter_, process.id());
  if (holding.id == 0) {
    Holding made{holding.kind, bytes, 0};
    if (create(process, made, now) != cu::kSuccess) return false;
    holding = made;
    return true;
  }
  if (!vidmm::resize(adapter_, client, holding.id, bytes, now)) return false;
  card_.discharge(process, holding.bytes);
  card_.charge(process, bytes);
  holding.bytes = bytes;
  return true;
}

void WddmPersonality::process_ended(Process& process, base::Nanos now) {
  vidmm::end_process(adapter_, vidmm::client_of(adapter_, process.id()), process.host, now);
  card_.discharge(process, card_.held_by(process));
  report(process);
}

cu::Status WddmPersonality::set_access(Process& process, const Mapping& mapping, base::Nanos now) {
  vidmm::run_until(adapter_, now);
  vidmm::Client& client = vidmm::client_of(adapter_, process.id());
  const auto found = adapter_.allocs.find(mapping.block->holding.id);
  if (found == adapter_.allocs.end()) return cu::kSuccess;  // another card's
  vidmm::Alloc& alloc = found->second;
  const auto not_ready = [&] {
    ++refused_[{process.id(), mapping.va}];
    return cu::kNotReady;
  };
  if (client.not_ready_armed && now <= client.not_ready_until) {  // W-41
    client.not_ready_armed = false;
    return not_ready();
  }
  if (alloc.references == 0) {
    const auto made = vidmm::make_resident(adapter_, client, {alloc.id}, false, call_of(process), now);
    if (made.status == vidmm::Residency::kOutOfMemory) {
      if (!adapter_.parameters.sysmem_fallback && adapter_.on(42)) return cu::kOutOfMemory;
      if (adapter_.on(41) && !alloc.refused) {
        alloc.refused = true;
        return not_ready();
      }
      ++alloc.references;
      vidmm::place_non_local(adapter_, client, alloc);
    }
  } else {
    (void)vidmm::remap(adapter_, client, alloc, call_of(process), now);
  }
  refused_.erase({process.id(), mapping.va});
  vidmm::write_entries(adapter_, client, alloc, mapping.va, mapping.size, process.host, call_of(process));
  report(process);
  return cu::kSuccess;
}

void WddmPersonality::placed(Process& process, const Holding& holding, cu::DevicePtr va, Bytes bytes) {
  const auto found = adapter_.allocs.find(holding.id);
  if (found == adapter_.allocs.end()) return;
  vidmm::Client& client = vidmm::client_of(adapter_, process.id());
  vidmm::write_entries(adapter_, client, found->second, va, bytes, process.host, call_of(process));
  report(process);
}

void WddmPersonality::unmapped(Process& process, const Mapping& mapping, base::Nanos) {
  const auto found = refused_.find({process.id(), mapping.va});
  if (found == refused_.end()) return;
  const bool once = found->second == 1;
  refused_.erase(found);
  if (!once) return;
  world_.report(
      process, "H-9", false,
      "the mapping at " + std::to_string(mapping.va) + " is undone after a single NOT_READY from cuMemSetAccess");
}

void WddmPersonality::address_freed(Process& process, bool mapped) {
  if (mapped) {
    world_.report(process, "H-10", true, "addresses are freed while something is mapped there",
                  "a fault in the runtime");
    return;
  }
  vidmm::Client& client = vidmm::client_of(adapter_, process.id());
  const std::uint64_t limit = adapter_.parameters.va_churn_limit;
  if (++client.va_churn <= limit || limit == 0) return;
  world_.report(
      process, "H-10", true,
      "reservation number " + std::to_string(client.va_churn) + " is freed; the runtime bears " + std::to_string(limit),
      "a fault in the runtime");
}

base::Nanos WddmPersonality::schedule(Op& op, base::Nanos now) {
  Process& process = *op.stream->context->process;
  vidmm::Client& client = vidmm::client_of(adapter_, process.id());
  const bool sparse = !adapter_.on(13);
  std::vector<vidmm::AllocId> touched;
  if (sparse || client.non_local > 0) {
    for (const auto* spans : {&op.source, &op.destination}) {
      for (const Span& span : *spans) touched.push_back(span.block().holding.id);
    }
  }
  const base::Nanos at = vidmm::schedule(adapter_, client, op.stamp, touched, {"", op.call_index}, now);
  if (client.non_local > 0 && adapter_.on(33)) {
    // Work on memory that lies in system memory runs at the link's speed.
    Bytes far = 0;
    for (const auto* spans : {&op.source, &op.destination}) {
      for (const Span& span : *spans) {
        const auto found = adapter_.allocs.find(span.block().holding.id);
        if (found != adapter_.allocs.end() && found->second.place == vidmm::Place::kNonLocal) far += span.length;
      }
    }
    op.duration += Profile::transfer_ns(far, adapter_.parameters.page_gb_per_s);
  }
  return at;
}

base::Nanos WddmPersonality::mapping_delay(Process& process, base::Nanos now) {
  vidmm::run_until(adapter_, now);
  const bool waits = vidmm::client_of(adapter_, process.id()).page_ins_done_at > now;
  return waits ? vidmm::draw(adapter_, adapter_.parameters.page_in_latency) : 0;
}

bool WddmPersonality::admits_pinned(Process& process, Bytes bytes) {
  if (!adapter_.on(44)) return true;
  const vidmm::Parameters& parameters = adapter_.parameters;
  const Bytes pinned = process.pinned.bytes();
  switch (parameters.pin_model) {
    case vidmm::PinModel::kHalfRam:
      return pinned + bytes <= parameters.ram / 2;
    case vidmm::PinModel::kPerCall:
      return bytes <= parameters.pin_per_call && pinned + bytes <= parameters.pin_in_process;
    case vidmm::PinModel::kVramCoupled:
      break;
  }
  if (parameters.pin_failure_sticky && pin_failed_[process.id()]) return false;
  const Bytes wall = adapter_.vram - std::min(adapter_.vram, parameters.pin_slack);
  const bool fits = adapter_.resident + pinned + bytes <= wall;
  if (!fits) pin_failed_[process.id()] = true;
  return fits;
}

MemInfo WddmPersonality::mem_info(Process& process, base::Nanos now) {
  vidmm::run_until(adapter_, now);
  const Bytes free = vidmm::process_free(adapter_, vidmm::client_of(adapter_, process.id()));
  return {std::min(free, card_.profile.cuda_total()), card_.profile.cuda_total()};
}

Bytes WddmPersonality::nvml_free(base::Nanos now) {
  vidmm::run_until(adapter_, now);
  return adapter_.free();
}

cu::Status WddmPersonality::unmap_in_use() {
  // All three were reported (H-4).
  constexpr cu::Status kOutcomes[] = {cu::kSuccess, cu::kLaunchTimeout, cu::kUnknown};
  return kOutcomes[adapter_.random.below(3)];
}

}  // namespace tidegate::sim
