// Device memory with addresses of its own: cuMemAlloc and what is free.
#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {
constexpr Bytes kSmall = kMiB;  // up to it, allocations share chunks (measured: driver 580)
constexpr Bytes kSmallChunk = 2 * kMiB;

void add_mapping(Process& process, const std::shared_ptr<Mapping>& mapping) {
  mapping->access[static_cast<std::size_t>(mapping->block->card)] = cu::kAccessReadWrite;
  process.space.map(mapping);
  ++mapping->block->mappings;
}
}  // namespace

cu::DevicePtr add_chunk(Call& call, int card, SubAllocator& allocator, HoldingKind kind, Bytes bytes,
                        cu::Status& status) {
  const std::shared_ptr<PhysicalBlock> block = call.world.create_block(call.process, card, kind, bytes, status);
  if (block == nullptr) return 0;
  block->handles = 1;
  const cu::DevicePtr begin = call.process.space.reserve(bytes, kSmallChunk, 0);
  if (begin == 0) {
    block->handles = 0;
    call.world.release_if_unused(block);
    status = cu::kOutOfMemory;
    return 0;
  }
  call.process.chunks[begin] = block;
  call.world.cards[static_cast<std::size_t>(card)]->personality->placed(call.process, block->holding, begin, bytes);
  allocator.add_chunk(begin, bytes);
  return begin;
}

void give_chunk_back(World& world, Process& process, cu::DevicePtr begin, Bytes bytes) {
  const auto found = process.chunks.find(begin);
  const std::shared_ptr<PhysicalBlock> block = found->second;
  process.chunks.erase(found);
  process.space.unreserve(begin, bytes);
  --block->handles;
  world.release_if_unused(block);
}

std::shared_ptr<Mapping> map_part(Process& process, cu::DevicePtr chunk, cu::DevicePtr begin, Bytes bytes,
                                  MappingKind kind) {
  auto mapping = std::make_shared<Mapping>();
  mapping->va = begin;
  mapping->size = bytes;
  mapping->block = process.chunks.at(chunk);
  mapping->block_offset = begin - chunk;
  mapping->kind = kind;
  add_mapping(process, mapping);
  return mapping;
}

cu::Status SimDriver::mem_get_info(std::size_t* free, std::size_t* total) {
  return run_call(world_, process_, Id::mem_get_info, cost_of(world_, Id::mem_get_info, 0), [&](Call& call) {
    if (free == nullptr || total == nullptr) return cu::kInvalidValue;
    const MemInfo info = call.card().personality->mem_info(process_, world_.timeline.now());
    *free = info.free;
    *total = info.total;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_get_address_range(DevicePtr* base, std::size_t* bytes, DevicePtr ptr) {
  return run_call(world_, process_, Id::mem_get_address_range, cost_of(world_, Id::mem_get_address_range, 0),
                  [&](Call&) {
                    const std::shared_ptr<Mapping> mapping = process_.space.find(ptr);
                    if (mapping == nullptr) return cu::kNotFound;
                    if (base != nullptr) *base = mapping->va;
                    if (bytes != nullptr) *bytes = mapping->size;
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::mem_alloc(DevicePtr* ptr, std::size_t bytes) {
  return run_call(world_, process_, Id::mem_alloc, cost_of(world_, Id::mem_alloc, bytes), [&](Call& call) {
    if (ptr == nullptr || bytes == 0) return cu::kInvalidValue;
    cu::Status status = cu::kSuccess;
    std::shared_ptr<Mapping> mapping;
    if (bytes <= kSmall) {
      SubAllocator& small = process_.small[call.context->card];
      const Bytes size = round_up(bytes, SubAllocator::kGrain);
      auto at = small.take(size);
      if (!at) {
        if (add_chunk(call, call.context->card, small, HoldingKind::kPlain, kSmallChunk, status) == 0) return status;
        at = small.take(size);
      }
      mapping = map_part(process_, small.chunk_of(*at), *at, size, MappingKind::kAlloc);
      // A new tenant: nothing written, nobody to be ordered after.
      const Bytes begin = mapping->block_offset;
      mapping->block->content.put(begin, {PieceKind::kUnwritten, 0, 0, 0, nullptr, size});
      mapping->block->shadow.assign(begin, begin + size, Shadow{});
    } else {
      const Bytes size = round_up(bytes, call.card().profile.granularity);
      const std::shared_ptr<PhysicalBlock> block =
          world_.create_block(process_, call.context->card, HoldingKind::kPlain, size, status);
      if (block == nullptr) return status;
      mapping = std::make_shared<Mapping>();
      mapping->va = process_.space.reserve(size, call.card().profile.granularity, 0);
      if (mapping->va == 0) {
        world_.release_if_unused(block);
        return cu::kOutOfMemory;
      }
      call.card().personality->placed(process_, block->holding, mapping->va, size);
      mapping->size = size;
      mapping->block = block;
      mapping->kind = MappingKind::kAlloc;
      add_mapping(process_, mapping);
    }
    mapping->owner = call.context->handle;
    *ptr = mapping->va;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_free(DevicePtr ptr) {
  Bytes size = 0;
  {
    const base::Lock lock(world_.mutex);
    if (const auto mapping = process_.space.find_start(ptr)) size = mapping->size;
  }
  return run_call(world_, process_, Id::mem_free, cost_of(world_, Id::mem_free, size), [&](Call& call) {
    if (ptr == 0) return cu::kSuccess;
    const std::shared_ptr<Mapping> mapping = process_.space.find_start(ptr);
    if (mapping == nullptr || mapping->kind == MappingKind::kVmm) return cu::kInvalidValue;
    const int card = mapping->block->card;
    if (mapping->kind == MappingKind::kPool) return free_to_pool(call, mapping);
    world_.remove_mapping(process_, mapping, "free");
    SubAllocator& small = process_.small[card];
    if (mapping->size > kSmall) {
      process_.space.unreserve(mapping->va, mapping->size);
    } else {
      small.put(mapping->va, mapping->size);
      while (const auto chunk = small.take_empty_chunk())
        give_chunk_back(world_, process_, chunk->first, chunk->second);
    }
    return cu::kSuccess;
  });
}

}  // namespace tidegate::sim
