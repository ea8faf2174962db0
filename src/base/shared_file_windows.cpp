#include <process.h>

#include "src/base/shared_file.h"

namespace tidegate::base {

Result<std::shared_ptr<SharedFile>> SharedFile::open(const std::string&, const std::string&, std::size_t,
                                                     const std::function<void(std::span<std::byte>)>&) {
  return Error{Errc::kIo, "there is no ledger on Windows yet: processes see each other as foreign"};
}
bool SharedFile::try_lock(std::uint32_t) { return false; }
void SharedFile::unlock(std::uint32_t) {}
bool SharedFile::locked(std::uint32_t) const { return false; }

std::uint64_t fork_generation() { return 0; }
ProcessIdentity process_identity() { return {static_cast<std::uint64_t>(::_getpid()), 0, 0}; }
std::uint32_t user_id() { return 0; }

}  // namespace tidegate::base
