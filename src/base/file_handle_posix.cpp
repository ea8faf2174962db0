#include <unistd.h>

#include "src/base/file_handle.h"

namespace tidegate::base {

void FileHandle::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace tidegate::base
