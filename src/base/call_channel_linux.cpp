#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/call_channel.h"

namespace tidegate::base {

namespace {
enum State : std::uint32_t { kIdle = 0, kRequested = 1, kReplied = 2, kHungUp = 3 };
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
}  // namespace

struct CallChannel::Shared {
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> size;
  std::atomic<std::int32_t> thread;
  unsigned char padding[52];
  unsigned char data[kCapacity];
};

CallChannel::~CallChannel() { ::munmap(shared_, sizeof(Shared)); }

Result<std::unique_ptr<CallChannel>> CallChannel::create(FileHandle& file) {
  static_assert(sizeof(Shared) % 64 == 0 && std::atomic<std::uint32_t>::is_always_lock_free);
  file = FileHandle(::memfd_create("tidegate-call", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), sizeof(Shared)) != 0 || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return Error{Errc::kIo, std::string("shared memory for calls: ") + std::strerror(errno)};
  }
  void* mapped = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return Error{Errc::kIo, std::string("shared memory for calls: ") + std::strerror(errno)};
  auto* shared = static_cast<Shared*>(mapped);
  shared->thread.store(static_cast<int>(::syscall(SYS_gettid)));
  return std::unique_ptr<CallChannel>(new CallChannel(shared));
}

Result<std::unique_ptr<CallChannel>> CallChannel::attach(const FileHandle& file) {
  struct stat status {};
  const Error refused{Errc::kInvalidArgument, "not a channel for calls"};
  if (!file || ::fstat(file.get(), &status) != 0 || status.st_size != static_cast<off_t>(sizeof(Shared))) {
    return refused;
  }
  if (::fcntl(file.get(), F_GET_SEALS) != kSeals) return refused;
  void* mapped = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return refused;
  return std::unique_ptr<CallChannel>(new CallChannel(static_cast<Shared*>(mapped)));
}

unsigned char* CallChannel::data() { return shared_->data; }

void CallChannel::post(std::size_t size) {
  shared_->size.store(static_cast<std::uint32_t>(size), std::memory_order_relaxed);
  shared_->state.store(kRequested, std::memory_order_release);
}

bool CallChannel::wait_reply(Nanos timeout, std::size_t& size) {
  if (shared_->state.load(std::memory_order_acquire) == kRequested) {
    timespec limit{timeout / kSecond, timeout % kSecond};
    (void)::syscall(SYS_futex, &shared_->state, FUTEX_WAIT, kRequested, &limit, nullptr, 0);
  }
  if (shared_->state.load(std::memory_order_acquire) == kRequested) return false;
  size = std::min<std::size_t>(shared_->size.load(std::memory_order_relaxed), kCapacity);
  shared_->state.store(kIdle, std::memory_order_relaxed);
  return true;
}

void CallChannel::hang_up() { shared_->state.store(kHungUp, std::memory_order_release); }

bool CallChannel::requested() const { return shared_->state.load(std::memory_order_acquire) == kRequested; }
bool CallChannel::hung_up() const { return shared_->state.load(std::memory_order_acquire) == kHungUp; }
int CallChannel::thread() const { return shared_->thread.load(std::memory_order_relaxed); }

std::vector<unsigned char> CallChannel::take_request() const {
  const std::size_t size = std::min<std::size_t>(shared_->size.load(std::memory_order_relaxed), kCapacity);
  return {shared_->data, shared_->data + size};
}

void CallChannel::reply(const std::vector<unsigned char>& bytes) {
  const std::size_t size = std::min(bytes.size(), kCapacity);
  if (size > 0) std::memcpy(shared_->data, bytes.data(), size);
  shared_->size.store(static_cast<std::uint32_t>(size), std::memory_order_relaxed);
  shared_->state.store(kReplied, std::memory_order_release);
  (void)::syscall(SYS_futex, &shared_->state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tidegate::base
