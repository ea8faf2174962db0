#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/local_socket.h"

namespace tidegate::base {

namespace {

Error system_error(const std::string& what) { return {Errc::kIo, what + ": " + std::strerror(errno)}; }

bool to_address(const std::string& name, sockaddr_un& address, socklen_t& length) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  if (name.front() == '@') {
    address.sun_path[0] = '\0';
    --length;  // an abstract name is as long as its address says
  }
  return true;
}

FileHandle open_socket() { return FileHandle(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<FileHandle> listen_at(const std::string& name) {
  sockaddr_un address;
  socklen_t length = 0;
  if (!to_address(name, address, length)) return Error{Errc::kInvalidArgument, "socket name '" + name + "' is no name"};
  FileHandle socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("socket");
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return system_error("bind " + name);
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) return system_error("listen " + name);
  return socket;
}

Result<FileHandle> connect_to(const std::string& name) {
  sockaddr_un address;
  socklen_t length = 0;
  if (!to_address(name, address, length)) return Error{Errc::kInvalidArgument, "socket name '" + name + "' is no name"};
  FileHandle socket = open_socket();
  if (!socket) return system_error("socket");
  int outcome = 0;
  do {
    outcome = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length);
  } while (outcome != 0 && errno == EINTR);
  if (outcome != 0) return system_error("connect to the broker at " + name);
  return socket;
}

FileHandle accept_from(const FileHandle& listener) {
  // Without a descriptor left the caller would be woken for ever by whom it cannot let in: that one is turned away.
  static FileHandle spare(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  FileHandle accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (accepted || (errno != EMFILE && errno != ENFILE)) return accepted;
  spare.close();
  FileHandle(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)).close();
  spare = FileHandle(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return {};
}

bool send_message(const FileHandle& socket, const void* bytes, std::size_t size, int file) {
  iovec part{const_cast<void*>(bytes), size};  // sendmsg does not write to it
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))] = {};
  if (file >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* extra = CMSG_FIRSTHDR(&header);
    extra->cmsg_level = SOL_SOCKET;
    extra->cmsg_type = SCM_RIGHTS;
    extra->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(extra), &file, sizeof file);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket.get(), &header, MSG_NOSIGNAL | (file >= 0 ? 0 : MSG_DONTWAIT));
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 || (file < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

Received receive_message(const FileHandle& socket, SocketMessage& message) {
  message.file.close();
  iovec part{message.bytes, sizeof message.bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  // The kernel closes what does not fit here: a hostile sender cannot fill the table of descriptors.
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Received::kNothing : Received::kClosed;
  for (cmsghdr* extra = CMSG_FIRSTHDR(&header); extra != nullptr; extra = CMSG_NXTHDR(&header, extra)) {
    if (extra->cmsg_level != SOL_SOCKET || extra->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (extra->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(extra) + i * sizeof(int), sizeof file);
      message.file = FileHandle(file);  // of several, the last stays
    }
  }
  if (got == 0) return Received::kClosed;
  message.size = static_cast<std::size_t>(got);
  return Received::kMessage;
}

bool peer_closed(const FileHandle& socket) {
  pollfd entry{socket.get(), 0, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

Peer peer_of(const FileHandle& socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {};
  return {credentials.pid, credentials.uid};
}

unsigned this_user() { return ::geteuid(); }

FileHandle watch_process(int pid) {
#ifdef SYS_pidfd_open
  return FileHandle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  (void)pid;
  return FileHandle();
#endif
}

void wait_readable(const std::vector<int>& files, Nanos timeout) {
  std::vector<pollfd> entries;
  entries.reserve(files.size());
  for (const int file : files) entries.push_back({file, POLLIN, 0});
  timespec limit{};
  if (timeout != kNever) {
    limit.tv_sec = timeout / kSecond;
    limit.tv_nsec = timeout % kSecond;
  }
  (void)::ppoll(entries.data(), entries.size(), timeout == kNever ? nullptr : &limit, nullptr);
}

bool is_readable(const FileHandle& file) {
  pollfd entry{file.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

FileHandle make_wake() { return FileHandle(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void signal_wake(const FileHandle& wake) {
  const std::uint64_t one = 1;
  (void)!::write(wake.get(), &one, sizeof one);
}

void clear_wake(const FileHandle& wake) {
  std::uint64_t count = 0;
  (void)!::read(wake.get(), &count, sizeof count);
}

}  // namespace tidegate::base
