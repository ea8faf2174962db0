// Page-locked host memory.
#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

// Pending copies of this process from or to [begin, begin + bytes).
std::vector<std::shared_ptr<Op>> copies_touching(const Process& process, const void* begin, Bytes bytes) {
  std::vector<std::shared_ptr<Op>> found;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const auto look = [&](const Stream& stream) {
    for (const std::shared_ptr<Op>& op : stream.pending) {
      const auto at = reinterpret_cast<std::uintptr_t>(op->host_begin);
      if (at != 0 && at < from + bytes && from < at + op->bytes) found.push_back(op);
    }
  };
  for (const auto& [handle, context] : process.contexts) {
    look(*context->default_stream);
    for (const auto& stream : context->streams) look(*stream);
  }
  return found;
}

// The driver would go on reading what the program gave back: reported, then waited for, so that the simulation does
// not.
cu::Status drain_host_range(Call& call, const void* begin, Bytes bytes, const char* verb) {
  std::vector<std::shared_ptr<Op>> copies = copies_touching(call.process, begin, bytes);
  if (copies.empty()) return cu::kSuccess;
  call.world.report(
      call.process, "HOST-FREE", false,
      std::string(verb) + " of host memory under " + std::to_string(copies.size()) + " queued or running copies");
  const bool alive = call.world.wait_until(call.process, [&] {
    std::erase_if(copies, [](const auto& op) { return op->done; });
    return copies.empty();
  });
  return alive ? cu::kSuccess : cu::kDeinitialized;
}

cu::Status unpin(Call& call, const void* ptr, PinnedMemory::Kind kind, const char* verb) {
  const PinnedMemory::Range* range = call.process.pinned.find(ptr);
  if (range == nullptr || range->kind != kind) {
    const bool unknown = kind == PinnedMemory::Kind::kRegistered && !call.process.pinned.covers(ptr, 1);
    return unknown ? cu::kHostMemoryNotRegistered : cu::kInvalidValue;
  }
  const cu::Status status = drain_host_range(call, ptr, range->size, verb);
  if (status != cu::kSuccess) return status;
  call.process.pinned.remove(ptr);
  call.process.counters.pinned = call.process.pinned.bytes();
  return cu::kSuccess;
}

bool over_limit(const World& world, Process& process, Bytes bytes) {
  const Bytes limit = world.options.pinned_limit;
  if (limit > 0 && (bytes > limit || process.pinned.bytes() > limit - bytes)) return true;
  return !world.cards.front()->personality->admits_pinned(process, bytes);
}

Bytes pinned_size(World& world, const Process& process, const void* ptr) {
  const base::Lock lock(world.mutex);
  const PinnedMemory::Range* range = process.pinned.find(ptr);
  return range == nullptr ? 0 : range->size;
}

}  // namespace

cu::Status SimDriver::mem_host_alloc(void** ptr, std::size_t bytes, unsigned flags) {
  return run_call(world_, process_, Id::mem_host_alloc, cost_of(world_, Id::mem_host_alloc, bytes), [&](Call&) {
    if (ptr == nullptr || flags > 7) return cu::kInvalidValue;
    if (over_limit(world_, process_, bytes)) return cu::kOutOfMemory;
    if (bytes == 0) {
      *ptr = nullptr;
      return cu::kSuccess;
    }
    void* memory = process_.pinned.allocate(bytes);
    if (memory == nullptr) return cu::kOutOfMemory;
    process_.counters.pinned = process_.pinned.bytes();
    *ptr = memory;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_free_host(void* ptr) {
  const Bytes size = pinned_size(world_, process_, ptr);
  return run_call(world_, process_, Id::mem_free_host, cost_of(world_, Id::mem_free_host, size), [&](Call& call) {
    if (ptr == nullptr) return cu::kSuccess;
    return unpin(call, ptr, PinnedMemory::Kind::kAllocated, "free");
  });
}

cu::Status SimDriver::mem_host_register(void* ptr, std::size_t bytes, unsigned flags) {
  return run_call(world_, process_, Id::mem_host_register, cost_of(world_, Id::mem_host_register, bytes), [&](Call&) {
    if (ptr == nullptr || bytes == 0 || flags > 15) return cu::kInvalidValue;
    if (over_limit(world_, process_, bytes)) return cu::kOutOfMemory;
    const PinnedMemory::Range* known = process_.pinned.find(ptr);
    if (known != nullptr && known->kind == PinnedMemory::Kind::kAllocated) return cu::kInvalidValue;
    if (!process_.pinned.add_registered(ptr, bytes)) return cu::kHostMemoryAlreadyRegistered;
    process_.counters.pinned = process_.pinned.bytes();
    return cu::kSuccess;
  });
}

cu::Status SimDriver::mem_host_unregister(void* ptr) {
  const Bytes size = pinned_size(world_, process_, ptr);
  return run_call(world_, process_, Id::mem_host_unregister, cost_of(world_, Id::mem_host_unregister, size),
                  [&](Call& call) {
                    if (ptr == nullptr) return cu::kInvalidValue;
                    return unpin(call, ptr, PinnedMemory::Kind::kRegistered, "unregister");
                  });
}

}  // namespace tidegate::sim
