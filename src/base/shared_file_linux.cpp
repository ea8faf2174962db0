#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file_handle.h"
#include "src/base/shared_file.h"

namespace tidegate::base {
namespace {

std::atomic<std::uint64_t> g_fork_generation{0};

// Registered when the library is loaded, so before anything can fork with a mapping of ours.
const bool kForkSeen = [] {
  ::pthread_atfork(nullptr, nullptr, [] { g_fork_generation.fetch_add(1, std::memory_order_relaxed); });
  return true;
}();

Error system_error(const std::string& path) {
  const int code = errno;
  return {code == ELOOP ? Errc::kInvalidArgument : Errc::kIo, path + ": " + std::strerror(code)};
}

Result<void> check_private(int descriptor, const std::string& path) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return system_error(path);
  if (info.st_uid != ::geteuid()) {
    return Error{Errc::kInvalidArgument, path + ": belongs to user " + std::to_string(info.st_uid) +
                                             "; name a folder of your own in TIDEGATE_LEDGER_DIR"};
  }
  if ((info.st_mode & 077) != 0) {
    return Error{Errc::kInvalidArgument, path + ": is open to other users; chmod go= it"};
  }
  return {};
}

// A file that is whole before it has a name: whoever dies here leaves nothing behind.
Result<void> create(int folder, const std::string& path, const std::string& name, std::size_t size,
                    const std::function<void(std::span<std::byte>)>& fill) {
  const FileHandle made(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (made.get() < 0 || ::fchmod(made.get(), 0600) != 0 || ::ftruncate(made.get(), static_cast<off_t>(size)) != 0) {
    return system_error(path);
  }
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, made.get(), 0);
  if (data == MAP_FAILED) return system_error(path);
  fill({static_cast<std::byte*>(data), size});
  ::munmap(data, size);
  const std::string unnamed = "/proc/self/fd/" + std::to_string(made.get());
  if (::linkat(AT_FDCWD, unnamed.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) != 0 && errno != EEXIST) {
    return system_error(path);
  }
  return {};
}

struct flock byte_lock(std::uint32_t byte, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<std::shared_ptr<SharedFile>> SharedFile::open(const std::string& folder, const std::string& name,
                                                     std::size_t size,
                                                     const std::function<void(std::span<std::byte>)>& fill) {
  // Kept by inode: two ways to write one path must not become two descriptors. Never destroyed: a seat outlives main.
  static auto& mutex = *new std::mutex;
  struct Opened {
    FileHandle handle;
    std::shared_ptr<SharedFile> file;
  };
  static auto& files = *new std::map<std::pair<dev_t, ino_t>, Opened>;
  const std::lock_guard hold(mutex);

  const std::string path = folder + "/" + name;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return system_error(folder);
  const FileHandle at(::open(folder.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (at.get() < 0) return system_error(folder);
  if (auto fine = check_private(at.get(), folder); !fine) return fine.error();

  struct stat info {};
  if (::fstatat(at.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return system_error(path);
    if (auto made = create(at.get(), path, name, size, fill); !made) return made.error();
    if (::fstatat(at.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return system_error(path);
  }
  const auto key = std::pair(info.st_dev, info.st_ino);
  // Looked up before it is opened: even closing a second descriptor would end the locks.
  if (const auto known = files.find(key); known != files.end()) return known->second.file;

  FileHandle file(::openat(at.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error(path);
  if (auto fine = check_private(file.get(), path); !fine) return fine.error();
  if (::fstat(file.get(), &info) != 0) return system_error(path);
  if (!S_ISREG(info.st_mode) || info.st_size != static_cast<off_t>(size)) {
    return Error{Errc::kBadFile, path + ": is not a ledger of this version (" + std::to_string(info.st_size) +
                                     " bytes, not " + std::to_string(size) + "); end its programs and remove it"};
  }
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return system_error(path);
  const std::shared_ptr<SharedFile> shared(new SharedFile(file.get(), {static_cast<std::byte*>(data), size}));
  files.emplace(std::pair(info.st_dev, info.st_ino), Opened{std::move(file), shared});
  return shared;
}

bool SharedFile::try_lock(std::uint32_t byte) {
  struct flock lock = byte_lock(byte, F_WRLCK);
  return ::fcntl(descriptor_, F_SETLK, &lock) == 0;
}

void SharedFile::unlock(std::uint32_t byte) {
  struct flock lock = byte_lock(byte, F_UNLCK);
  ::fcntl(descriptor_, F_SETLK, &lock);
}

bool SharedFile::locked(std::uint32_t byte) const {
  struct flock lock = byte_lock(byte, F_WRLCK);
  // Asked on the open file's behalf: the process's own locks are in its way too, which F_GETLK would not say. A lock
  // that cannot be looked at counts as held: bytes that are there must not be forgotten (I6).
  return ::fcntl(descriptor_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

std::uint64_t fork_generation() { return g_fork_generation.load(std::memory_order_relaxed); }

ProcessIdentity process_identity() {
  ProcessIdentity identity;
  identity.pid = static_cast<std::uint64_t>(::getpid());
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) == 0) identity.pid_space = space.st_ino;
  // Field 22 of proc(5)'s stat; the second, the name, may hold blanks and ends with the last parenthesis.
  std::string line;
  std::getline(std::ifstream("/proc/self/stat"), line);
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at != std::string::npos) identity.started = std::strtoull(line.c_str() + at, nullptr, 10);
  return identity;
}

std::uint32_t user_id() { return ::geteuid(); }

}  // namespace tidegate::base
