// Stream-ordered allocation.
#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

using Pool = sim::MemPool;

std::shared_ptr<Pool> find_pool(Process& process, cu::MemPool handle) {
  const auto* found = find_in(process.pools, to_number(handle));
  return found == nullptr || (*found)->destroyed ? nullptr : *found;
}

std::shared_ptr<Pool> make_pool(Process& process, int card, bool is_default) {
  auto pool = std::make_shared<Pool>();
  pool->card = card;
  pool->is_default = is_default;
  pool->handle = process.new_handle();
  process.pools[pool->handle] = pool;
  return pool;
}

std::shared_ptr<Pool> default_pool(Process& process, int card) {
  for (const auto& [handle, pool] : process.pools) {
    if (pool->is_default && pool->card == card) return pool;
  }
  return make_pool(process, card, true);
}

void trim(World& world, Process& process, Pool& pool, Bytes keep) {
  pool.settle();
  while (pool.memory.chunk_bytes() > keep) {
    const auto chunk = pool.memory.take_empty_chunk();
    if (!chunk) break;
    give_chunk_back(world, process, chunk->first, chunk->second);
  }
}

// Memory for `stream`: what the stream itself has freed, what anybody has, or more of the card.
cu::DevicePtr take(Call& call, Pool& pool, Stream& stream, Bytes size, cu::Status& status) {
  pool.settle();
  for (auto it = pool.freed.begin(); it != pool.freed.end(); ++it) {
    if (it->op->stream.get() != &stream || it->bytes < size) continue;
    const cu::DevicePtr at = it->begin;
    it->begin += size;
    it->bytes -= size;
    if (it->bytes == 0) pool.freed.erase(it);
    return at;
  }
  auto at = pool.memory.take(size);
  if (!at) {
    const Bytes grain = call.world.cards[static_cast<std::size_t>(pool.card)]->profile.granularity;
    status = cu::kSuccess;
    const auto more = [&](Bytes bytes) {
      return add_chunk(call, pool.card, pool.memory, HoldingKind::kPool, bytes, status) != 0;
    };
    if (!more(round_up(size, Pool::kChunk)) && !more(round_up(size, grain))) {
      return 0;
    }
    pool.reserved_high = std::max(pool.reserved_high, pool.memory.chunk_bytes());
    at = pool.memory.take(size);
  }
  stream.clock.join(pool.clock);
  return *at;
}

cu::Status allocate(Call& call, cu::DevicePtr* ptr, Bytes bytes, const std::shared_ptr<Pool>& wanted,
                    cu::Stream handle) {
  if (ptr == nullptr) return cu::kInvalidValue;
  std::shared_ptr<Stream> stream;
  cu::Status status = find_stream(call, handle, stream);
  if (status != cu::kSuccess) return status;
  // Memory that belongs to a graph is not simulated.
  if (captured(call, stream, status)) return status == cu::kSuccess ? cu::kNotSupported : status;
  status = check_capture(call);
  if (status != cu::kSuccess) return status;
  if (bytes == 0) {
    *ptr = 0;
    return cu::kSuccess;
  }
  status = queue_room(call, stream);
  if (status != cu::kSuccess) return status;
  const std::shared_ptr<Pool> pool = wanted != nullptr ? wanted : default_pool(call.process, stream->context->card);
  const Bytes size = round_up(bytes, SubAllocator::kGrain);
  const cu::DevicePtr at = take(call, *pool, *stream, size, status);
  if (at == 0) return status;
  const auto mapping = map_part(call.process, pool->memory.chunk_of(at), at, size, MappingKind::kPool);
  mapping->owner = pool->handle;
  mapping->requested = bytes;
  pool->used += bytes;
  pool->used_high = std::max(pool->used_high, pool->used);
  // In stream order, because what was queued before may still read the former tenant's bytes.
  const std::shared_ptr<Op> op = new_op(call, OpKind::kReset, stream);
  op->destination.push_back({mapping, mapping->block_offset, size});
  op->bytes = size;
  submit(call, op);
  *ptr = at;
  return cu::kSuccess;
}

}  // namespace

cu::Status free_to_pool(Call& call, const std::shared_ptr<Mapping>& mapping) {
  call.world.remove_mapping(call.process, mapping, "free");
  Pool& pool = *call.process.pools.at(mapping->owner);
  pool.memory.put(mapping->va, mapping->size);
  pool.used -= mapping->requested;
  return cu::kSuccess;
}

void trim_pools(Call& call, int card) {
  if (!call.world.cards[static_cast<std::size_t>(card)]->personality->trims_pools()) return;
  std::erase_if(call.process.pools, [&](const auto& entry) {
    Pool& pool = *entry.second;
    if (pool.card != card) return false;
    trim(call.world, call.process, pool, pool.release_threshold);
    return pool.destroyed && pool.used == 0 && pool.memory.chunk_bytes() == 0;
  });
}

cu::Status SimDriver::device_get_default_mem_pool(MemPool* pool, Device device) {
  return run_call(world_, process_, Id::device_get_default_mem_pool,
                  cost_of(world_, Id::device_get_default_mem_pool, 0), [&](Call&) {
                    if (pool == nullptr) return cu::kInvalidValue;
                    if (device < 0 || device >= static_cast<int>(world_.cards.size())) return cu::kInvalidDevice;
                    *pool = to_handle<cu::MemPool>(default_pool(process_, device)->handle);
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::mem_pool_create(MemPool* pool, const MemPoolProps* props) {
  return run_call(world_, process_, Id::mem_pool_create, cost_of(world_, Id::mem_pool_create, 0), [&](Call&) {
    if (pool == nullptr || props == nullptr || props->alloc_type != cu::kAllocationPinned) return cu::kInvalidValue;
    if (props->location.type != cu::kLocationDevice || props->handle_types != 0) return cu::kNotSupported;
    if (props->location.id < 0 || props->location.id >= static_cast<int>(world_.cards.size()))
      return cu::kInvalidDevice;
    *pool = to_handle<cu::MemPool>(make_pool(process_, props->location.id, false)->handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_pool_destroy(MemPool handle) {
  return run_call(world_, process_, Id::mem_pool_destroy, cost_of(world_, Id::mem_pool_destroy, 0), [&](Call&) {
    const std::shared_ptr<Pool> pool = find_pool(process_, handle);
    if (pool == nullptr || pool->is_default) return cu::kInvalidValue;
    pool->destroyed = true;
    pool->release_threshold = 0;
    trim(world_, process_, *pool, 0);
    if (pool->used == 0 && pool->memory.chunk_bytes() == 0) process_.pools.erase(pool->handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_pool_set_attribute(MemPool handle, MemPoolAttribute attribute, void* value) {
  return run_call(world_, process_, Id::mem_pool_set_attribute, cost_of(world_, Id::mem_pool_set_attribute, 0),
                  [&](Call&) {
                    const std::shared_ptr<Pool> pool = find_pool(process_, handle);
                    if (pool == nullptr || value == nullptr) return cu::kInvalidValue;
                    const std::uint64_t number = *static_cast<const std::uint64_t*>(value);
                    switch (attribute) {
                      case cu::kPoolReleaseThreshold:
                        pool->release_threshold = number;
                        return cu::kSuccess;
                      case cu::kPoolReservedHigh:
                      case cu::kPoolUsedHigh:
                        if (number != 0) return cu::kInvalidValue;
                        if (attribute == cu::kPoolReservedHigh) pool->reserved_high = pool->memory.chunk_bytes();
                        if (attribute == cu::kPoolUsedHigh) pool->used_high = pool->used;
                        return cu::kSuccess;
                      case cu::kPoolReservedCurrent:
                      case cu::kPoolUsedCurrent:
                        break;
                    }
                    return cu::kInvalidValue;
                  });
}

cu::Status SimDriver::mem_pool_get_attribute(MemPool handle, MemPoolAttribute attribute, void* value) {
  return run_call(world_, process_, Id::mem_pool_get_attribute, cost_of(world_, Id::mem_pool_get_attribute, 0),
                  [&](Call&) {
                    const std::shared_ptr<Pool> pool = find_pool(process_, handle);
                    if (pool == nullptr || value == nullptr) return cu::kInvalidValue;
                    auto& number = *static_cast<std::uint64_t*>(value);
                    switch (attribute) {
                      case cu::kPoolReleaseThreshold:
                        number = pool->release_threshold;
                        return cu::kSuccess;
                      case cu::kPoolReservedCurrent:
                        number = pool->memory.chunk_bytes();
                        return cu::kSuccess;
                      case cu::kPoolReservedHigh:
                        number = pool->reserved_high;
                        return cu::kSuccess;
                      case cu::kPoolUsedCurrent:
                        number = pool->used;
                        return cu::kSuccess;
                      case cu::kPoolUsedHigh:
                        number = pool->used_high;
                        return cu::kSuccess;
                    }
                    return cu::kInvalidValue;
                  });
}

cu::Status SimDriver::mem_pool_trim_to(MemPool handle, std::size_t keep_bytes) {
  return run_call(world_, process_, Id::mem_pool_trim_to, cost_of(world_, Id::mem_pool_trim_to, 0), [&](Call&) {
    const std::shared_ptr<Pool> pool = find_pool(process_, handle);
    if (pool == nullptr) return cu::kInvalidValue;
    trim(world_, process_, *pool, keep_bytes);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_alloc_async(DevicePtr* ptr, std::size_t bytes, Stream stream) {
  return run_call(world_, process_, Id::mem_alloc_async, cost_of(world_, Id::mem_alloc_async, bytes),
                  [&](Call& call) { return allocate(call, ptr, bytes, nullptr, stream); });
}

cu::Status SimDriver::mem_alloc_from_pool_async(DevicePtr* ptr, std::size_t bytes, MemPool handle, Stream stream) {
  return run_call(world_, process_, Id::mem_alloc_from_pool_async,
                  cost_of(world_, Id::mem_alloc_from_pool_async, bytes), [&](Call& call) {
                    const std::shared_ptr<Pool> pool = find_pool(process_, handle);
                    return pool == nullptr ? cu::kInvalidValue : allocate(call, ptr, bytes, pool, stream);
                  });
}

cu::Status SimDriver::mem_free_async(DevicePtr ptr, Stream handle) {
  return run_call(world_, process_, Id::mem_free_async, cost_of(world_, Id::mem_free_async, 0), [&](Call& call) {
    std::shared_ptr<sim::Stream> stream;
    cu::Status status = find_stream(call, handle, stream);
    if (status != cu::kSuccess) return status;
    if (captured(call, stream, status)) return status == cu::kSuccess ? cu::kNotSupported : status;
    if (ptr == 0) return cu::kSuccess;
    status = queue_room(call, stream);
    if (status != cu::kSuccess) return status;
    const std::shared_ptr<Mapping> mapping = process_.space.find_start(ptr);
    if (mapping == nullptr || mapping->kind != MappingKind::kPool) return cu::kInvalidValue;
    const std::shared_ptr<Op> op = new_op(call, OpKind::kRecord, stream);
    submit(call, op);
    if (world_.options.detect) {
      for (const Stamp& use : mapping->uses) {
        if (op->clock.covers(use)) continue;
        world_.report(process_, "RACE", false,
                      "free on stream " + std::to_string(stream->handle) + " of memory that operation " +
                          std::to_string(use.epoch) + " of stream slot " + std::to_string(use.slot) +
                          " uses without an order between the two");
        break;
      }
    }
    process_.space.unmap(*mapping);
    --mapping->block->mappings;
    Pool& pool = *process_.pools.at(mapping->owner);
    pool.used -= mapping->requested;
    pool.freed.push_back({mapping->va, mapping->size, op});
    return cu::kSuccess;
  });
}

}  // namespace tidegate::sim
