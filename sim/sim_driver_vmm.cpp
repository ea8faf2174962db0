// Physical memory and addresses apart: reserve, create, map, set access, unmap, release (rules C-2, C-3, L-7, L-9).
#include <algorithm>

#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

// The card that a location names, or -1.
int card_of(const World& world, const cu::MemLocation& location) {
  if (location.type != cu::kLocationDevice) return -1;
  return location.id >= 0 && location.id < static_cast<int>(world.cards.size()) ? location.id : -1;
}

cu::Status check_prop(const World& world, const cu::MemProp* prop) {
  if (prop == nullptr || prop->type != cu::kAllocationPinned) return cu::kInvalidValue;
  if (prop->location.type != cu::kLocationDevice) return cu::kNotSupported;  // host-located memory is not simulated
  if (card_of(world, prop->location) < 0) return cu::kInvalidDevice;
  return prop->requested_handle_types == 0 ? cu::kSuccess : cu::kNotSupported;
}

Bytes grain_of(const World& world) { return world.cards.front()->profile.granularity; }

// Without C-2, sizes are rounded up rather than refused.
Bytes accepted(const World& world, Bytes bytes) {
  if (world.cards.empty() || world.cards.front()->profile.rules.on(kRuleC2)) return bytes;
  return round_up(bytes, grain_of(world));
}

}  // namespace

cu::Status SimDriver::mem_get_allocation_granularity(std::size_t* bytes, const MemProp* prop, MemGranularity) {
  return run_call(world_, process_, Id::mem_get_allocation_granularity,
                  cost_of(world_, Id::mem_get_allocation_granularity, 0), [&](Call&) {
                    if (bytes == nullptr) return cu::kInvalidValue;
                    const cu::Status status = check_prop(world_, prop);
                    if (status != cu::kSuccess) return status;
                    *bytes = world_.cards[static_cast<std::size_t>(prop->location.id)]->profile.granularity;
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::mem_address_reserve(DevicePtr* ptr, std::size_t bytes, std::size_t alignment, DevicePtr hint,
                                          unsigned long long flags) {
  return run_call(world_, process_, Id::mem_address_reserve, cost_of(world_, Id::mem_address_reserve, bytes),
                  [&](Call&) {
                    const Bytes grain = grain_of(world_);
                    bytes = accepted(world_, bytes);
                    if (ptr == nullptr || bytes == 0 || bytes % grain != 0 || flags != 0) return cu::kInvalidValue;
                    if ((alignment & (alignment - 1)) != 0) return cu::kInvalidValue;
                    const cu::DevicePtr at = process_.space.reserve(bytes, std::max<Bytes>(alignment, grain), hint);
                    if (at == 0) return cu::kOutOfMemory;
                    *ptr = at;
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::mem_address_free(DevicePtr ptr, std::size_t bytes) {
  return run_call(world_, process_, Id::mem_address_free, cost_of(world_, Id::mem_address_free, bytes), [&](Call&) {
    bytes = accepted(world_, bytes);
    const bool mapped = process_.space.count(ptr, bytes) > 0;
    const bool freed = process_.space.unreserve(ptr, bytes);
    if (freed || mapped) world_.cards.front()->personality->address_freed(process_, mapped);
    return freed ? cu::kSuccess : cu::kInvalidValue;
  });
}

cu::Status SimDriver::mem_create(MemHandle* handle, std::size_t bytes, const MemProp* prop, unsigned long long flags) {
  return run_call(world_, process_, Id::mem_create, cost_of(world_, Id::mem_create, bytes), [&](Call& call) {
    ++process_.counters.mapping_calls;
    bytes = accepted(world_, bytes);
    if (handle == nullptr || flags != 0) return cu::kInvalidValue;
    cu::Status status = check_prop(world_, prop);
    if (status != cu::kSuccess) return status;
    const Bytes grain = world_.cards[static_cast<std::size_t>(prop->location.id)]->profile.granularity;
    if (bytes == 0 || bytes % grain != 0) return cu::kInvalidValue;
    const std::shared_ptr<PhysicalBlock> block =
        world_.create_block(call.process, prop->location.id, HoldingKind::kVmm, bytes, status);
    if (block == nullptr) return status;
    block->handles = 1;
    *handle = process_.new_handle();
    process_.handles[*handle] = block;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_release(MemHandle handle) {
  Bytes size = 0;
  {
    const base::Lock lock(world_.mutex);
    if (const auto* found = find_in(process_.handles, handle)) size = (*found)->size;
  }
  return run_call(world_, process_, Id::mem_release, cost_of(world_, Id::mem_release, size), [&](Call&) {
    ++process_.counters.mapping_calls;
    const auto* found = find_in(process_.handles, handle);
    if (found == nullptr) return cu::kInvalidValue;
    const std::shared_ptr<PhysicalBlock> block = *found;
    process_.handles.erase(handle);
    --block->handles;
    world_.release_if_unused(block);  // at once, or at the last unmap
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_map(DevicePtr ptr, std::size_t bytes, std::size_t offset, MemHandle handle,
                              unsigned long long flags) {
  return run_call(world_, process_, Id::mem_map, cost_of(world_, Id::mem_map, bytes), [&](Call&) {
    ++process_.counters.mapping_calls;
    bytes = accepted(world_, bytes);
    const auto* found = find_in(process_.handles, handle);
    if (found == nullptr || flags != 0) return cu::kInvalidValue;
    const std::shared_ptr<PhysicalBlock> block = *found;
    const Bytes grain = world_.cards[static_cast<std::size_t>(block->card)]->profile.granularity;
    if (bytes == 0 || bytes % grain != 0 || ptr % grain != 0 || bytes > block->size) return cu::kInvalidValue;
    if (offset != 0 || bytes != block->size) return cu::kNotSupported;  // parts of a handle (measured: driver 580)
    if (!process_.space.reserved(ptr, bytes)) return cu::kInvalidValue;
    auto mapping = std::make_shared<Mapping>();
    mapping->va = ptr;
    mapping->size = bytes;
    mapping->block = block;
    mapping->block_offset = offset;
    if (!process_.space.map(mapping)) return cu::kInvalidValue;
    ++block->mappings;
    if (const Bytes used = process_.space.used_before(ptr, bytes); used > 0) {
      ++process_.counters.remaps;
      process_.counters.remapped += used;
    }
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_unmap(DevicePtr ptr, std::size_t bytes) {
  std::size_t count = 0;
  bytes = accepted(world_, bytes);
  {
    const base::Lock lock(world_.mutex);
    count = process_.space.count(ptr, bytes);
  }
  return run_call(world_, process_, Id::mem_unmap, cost_of(world_, Id::mem_unmap, bytes, count), [&](Call&) {
    ++process_.counters.mapping_calls;
    const auto mappings = process_.space.whole(ptr, bytes);
    if (mappings.empty()) return cu::kInvalidValue;
    for (const auto& mapping : mappings) {
      if (mapping->kind != MappingKind::kVmm) return cu::kInvalidValue;
    }
    if (world_.cards.front()->personality->unmap_waits()) {
      const bool alive = world_.wait_until(process_, [&] {
        return std::all_of(mappings.begin(), mappings.end(), [](const auto& entry) { return entry->pending.empty(); });
      });
      if (!alive) return cu::kDeinitialized;
    }
    for (const auto& mapping : mappings) world_.remove_mapping(process_, mapping, "unmap");
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_set_access(DevicePtr ptr, std::size_t bytes, const MemAccess* access, std::size_t count) {
  std::size_t mapping_count = 0;
  bytes = accepted(world_, bytes);
  {
    const base::Lock lock(world_.mutex);
    mapping_count = process_.space.count(ptr, bytes);
  }
  return run_call(
      world_, process_, Id::mem_set_access, cost_of(world_, Id::mem_set_access, bytes, mapping_count), [&](Call&) {
        ++process_.counters.mapping_calls;
        if (access == nullptr || count == 0) return cu::kInvalidValue;
        const auto mappings = process_.space.whole(ptr, bytes);
        if (mappings.empty()) return cu::kInvalidValue;
        for (std::size_t i = 0; i < count; ++i) {
          const cu::MemAccessFlags flags = access[i].flags;
          if (flags != cu::kAccessNone && flags != cu::kAccessRead && flags != cu::kAccessReadWrite)
            return cu::kInvalidValue;
          if (card_of(world_, access[i].location) < 0) return cu::kInvalidDevice;
        }
        for (const auto& mapping : mappings) {
          const auto& card = world_.cards[static_cast<std::size_t>(mapping->block->card)];
          const cu::Status status = card->personality->set_access(process_, *mapping, world_.timeline.now());
          if (status == cu::kNotReady) ++process_.counters.not_ready;
          if (status != cu::kSuccess) return status;
          for (std::size_t i = 0; i < count; ++i) {
            mapping->access[static_cast<std::size_t>(access[i].location.id)] =
                static_cast<std::uint8_t>(access[i].flags);
          }
        }
        return cu::kSuccess;
      });
}

}  // namespace tidegate::sim
