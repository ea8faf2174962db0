#include <atomic>
#include <utility>

#include "sim/remote/connection.h"
#include "src/base/checksum.h"
#include "src/base/local_socket.h"
#include "src/base/system_info.h"

namespace tidegate::sim::remote {

namespace {

// How often a waiting thread looks whether the broker still lives.
constexpr base::Nanos kLook = 100 * base::kMillisecond;

// The calling thread's channels, told to the broker as closed when the thread ends.
class OwnChannels {
 public:
  OwnChannels() = default;
  OwnChannels(const OwnChannels&) = delete;
  OwnChannels& operator=(const OwnChannels&) = delete;
  ~OwnChannels() {
    for (Entry& entry : entries_) {
      // In a forked child they are the parent's.
      if (entry.pid == base::process_id()) entry.channel->hang_up();
    }
  }

  base::CallChannel* find(std::uint64_t connection) {
    for (Entry& entry : entries_) {
      if (entry.connection == connection) return entry.channel.get();
    }
    return nullptr;
  }
  base::CallChannel* add(std::uint64_t connection, std::weak_ptr<Connection> owner,
                         std::unique_ptr<base::CallChannel> channel) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.owner.expired(); });
    entries_.push_back({connection, base::process_id(), std::move(owner), std::move(channel)});
    return entries_.back().channel.get();
  }

 private:
  struct Entry {
    std::uint64_t connection;
    int pid;
    std::weak_ptr<Connection> owner;
    std::unique_ptr<base::CallChannel> channel;
  };
  std::vector<Entry> entries_;
};

thread_local OwnChannels own_channels;

}  // namespace

bool Connection::own_process() const { return base::process_id() == pid_; }

base::CallChannel* Connection::channel() {
  if (base::CallChannel* known = own_channels.find(id_)) return known;
  base::FileHandle file;
  auto made = base::CallChannel::create(file);
  if (!made || !base::send_message(socket_, "c", 1, file.get())) return nullptr;
  return own_channels.add(id_, weak_from_this(), std::move(made).value());
}

bool Connection::call(const Writer& request, std::vector<unsigned char>& reply) {
  if (!own_process()) return false;
  base::CallChannel* const line = channel();
  if (line == nullptr || request.bytes().size() > base::CallChannel::kCapacity) return false;
  std::memcpy(line->data(), request.bytes().data(), request.bytes().size());
  line->post(request.bytes().size());
  if (!base::send_message(socket_, "r", 1)) return false;
  std::size_t size = 0;
  while (!line->wait_reply(kLook, size)) {
    if (base::peer_closed(socket_)) return false;
  }
  reply.assign(line->data(), line->data() + size);
  return true;
}

bool Connection::call(const Writer& request, std::vector<unsigned char>& reply, base::FileHandle& file) {
  const base::Lock lock(files_);
  if (!call(request, reply)) return false;
  base::SocketMessage message;
  if (base::receive_message(socket_, message) == base::Received::kMessage) file = std::move(message.file);
  return true;
}

Result<std::shared_ptr<Connection>> Connection::open(const std::string& socket_name) {
  auto socket = base::connect_to(socket_name);
  if (!socket) return socket.error();
  static std::atomic<std::uint64_t> next{1};
  std::shared_ptr<Connection> made(
      new Connection(std::move(socket).value(), base::process_id(), next.fetch_add(1, std::memory_order_relaxed)));
  const std::uint64_t proof = base::kGolden;
  Writer hello;
  hello.put(Table::kHello);
  hello.put(kProtocol);
  hello.put(reinterpret_cast<std::uintptr_t>(&proof));
  hello.put(proof);
  std::vector<unsigned char> reply;
  if (!made->call(hello, reply)) return Error{Errc::kClosed, "the broker at " + socket_name + " hung up"};
  Reader in(reply.data(), reply.size());
  const auto welcome = in.get<std::uint32_t>();
  std::string text = in.get_text();
  if (welcome != kProtocol || !in.ok())
    return Error{Errc::kClosed, "the broker at " + socket_name + " refuses: " + text};
  made->description_ = std::move(text);
  return made;
}

}  // namespace tidegate::sim::remote
