#include <algorithm>
#include <set>
#include <utility>

#include "sim/remote/broker.h"
#include "sim/remote/serve_call.h"

namespace tidegate::sim::remote {

namespace {
// How long to sleep between looks at descendants that run: short at first, so that quick answers stay quick.
constexpr base::Nanos kFirstNap = 20 * base::kMicrosecond;
constexpr base::Nanos kLongestNap = 2 * base::kMillisecond;
}  // namespace

struct Broker::Channel {
  Client* client = nullptr;
  std::unique_ptr<base::CallChannel> line;
  int thread = 0;
  base::WaitPoint point;
  bool requested = false;  // there is a request that nobody has taken up
  bool busy = false;       // one is being carried out
  bool closed = false;
  bool started = false;
  bool finished = false;
};

struct Broker::Client {
  base::FileHandle socket;
  base::FileHandle life;  // readable when the process has ended
  int pid = 0;
  base::Lineage lineage;
  std::string name;
  Process* process = nullptr;
  std::vector<std::unique_ptr<Channel>> channels;
  bool gone = false;
  bool killed = false;
};

Broker::Broker(base::VirtualExecutor& executor, Machine& machine, base::FileHandle listener, BrokerOptions options)
    : executor_(executor),
      machine_(machine),
      options_(std::move(options)),
      listener_(std::move(listener)),
      wake_(base::make_wake()) {
  executor_.add(*this);
  executor_.set_outside(this);
}

Broker::~Broker() {
  executor_.set_outside(nullptr);
  executor_.remove(*this);
}

Result<std::unique_ptr<Broker>> Broker::listen(base::VirtualExecutor& executor, Machine& machine,
                                               const std::string& socket_name, BrokerOptions options) {
  if (options.follow_descendants) {
    if (Result<void> adopted = base::adopt_orphans(); !adopted) return adopted.error();
  }
  auto listener = base::listen_at(socket_name);
  if (!listener) return listener.error();
  return std::unique_ptr<Broker>(new Broker(executor, machine, std::move(listener).value(), std::move(options)));
}

void Broker::stop() {
  stopping_.store(true);
  base::signal_wake(wake_);
}

void Broker::run(const std::function<bool(std::size_t clients)>& finished) {
  mutex_.lock();
  while (!stopping_.load() && !finished(clients_.size())) executor_.wait(mutex_, changed_, base::kNever);
  closing_ = true;
  for (const auto& client : clients_) client->gone = true;
  executor_.wake(*this);
  while (!clients_.empty()) executor_.wait(mutex_, changed_, base::kNever);
  mutex_.unlock();
  executor_.join_finished();
}

std::vector<int> Broker::watched_files() const {
  std::vector<int> files = options_.files;
  files.push_back(listener_.get());
  files.push_back(wake_.get());
  for (const auto& client : clients_) {
    if (client->gone) continue;
    files.push_back(client->socket.get());
    if (client->life) files.push_back(client->life.get());
  }
  return files;
}

bool Broker::drain_client(Client& client) {
  bool changed = false;
  base::SocketMessage message;
  for (;;) {
    const base::Received received = base::receive_message(client.socket, message);
    if (received == base::Received::kNothing) break;
    if (received == base::Received::kClosed) {
      client.gone = true;
      return true;
    }
    if (!message.file) continue;
    auto line = base::CallChannel::attach(message.file);
    if (!line || client.channels.size() >= kMostChannels) {
      client.gone = true;
      return true;
    }
    auto channel = std::make_unique<Channel>();
    channel->client = &client;
    channel->line = std::move(line).value();
    channel->thread = channel->line->thread();
    client.channels.push_back(std::move(channel));
    changed = true;
  }
  if (client.life && base::is_readable(client.life)) {
    client.gone = true;
    changed = true;
  }
  return changed;
}

bool Broker::drain() {
  bool changed = false;
  if (stopping_.load()) {
    base::clear_wake(wake_);
    executor_.wake(*this);
  }
  if (options_.on_readable && options_.on_readable()) executor_.wake(*this);
  while (base::FileHandle socket = base::accept_from(listener_)) {
    const base::Peer peer = base::peer_of(socket);
    if (peer.pid == 0 || peer.user != base::this_user()) continue;
    auto client = std::make_unique<Client>();
    client->socket = std::move(socket);
    client->life = base::watch_process(peer.pid);
    client->pid = peer.pid;
    if (options_.follow_descendants) client->lineage = base::lineage_of(peer.pid);
    client->name = base::name_of_process(peer.pid);
    clients_.push_back(std::move(client));
    changed = true;
  }
  for (const auto& client : clients_) {
    if (!client->gone && drain_client(*client)) changed = true;
  }
  return changed;
}

bool Broker::all_asleep() const {
  std::set<std::pair<int, int>> waiting;
  for (const auto& client : clients_) {
    for (const auto& channel : client->channels) {
      if (channel->line->requested()) waiting.emplace(client->pid, channel->thread);
    }
  }
  return base::descendants_sleep([&](int pid, int thread) { return waiting.count({pid, thread}) > 0; });
}

void Broker::settle() {
  if (closing_ || (options_.follow_descendants && !unsettled_)) return;
  for (base::Nanos nap = kFirstNap;;) {
    bool changed = drain();
    if (!options_.follow_descendants || stopping_.load()) break;
    if (all_asleep()) {
      if (!drain()) break;
      changed = true;
    }
    if (changed) continue;
    base::wait_readable(watched_files(), nap);
    nap = std::min(2 * nap, kLongestNap);
  }
  unsettled_ = false;
  admit();
}

void Broker::wait(base::Nanos timeout) {
  base::wait_readable(watched_files(), timeout);
  unsettled_ = true;
}

void Broker::admit() {
  // Who has gone is dead before anybody's next call: that caller may have waited for the end.
  const auto died = [](const std::unique_ptr<Client>& client) { return client->gone && !client->killed; };
  if (std::any_of(clients_.begin(), clients_.end(), died)) {
    executor_.wake(*this);
    return;
  }
  bool news = stopping_.load();
  for (const auto& client : clients_) {
    if (client->gone) continue;
    for (const auto& channel : client->channels) {
      if (!channel->started) {
        news = true;
      } else if (channel->line->hung_up()) {
        channel->closed = true;
        executor_.notify_all(channel->point);
      } else if (!channel->busy && channel->line->requested()) {
        channel->requested = true;
        executor_.notify_all(channel->point);
      }
    }
  }
  if (news) executor_.wake(*this);
}

void Broker::let_in(Client& client) {
  if (client.process == nullptr) {
    client.process = &machine_.start_process(client.name, client.pid, std::make_unique<PeerHost>(client.pid));
  }
  std::vector<Channel*> fresh;
  for (const auto& channel : client.channels) {
    if (!channel->started) fresh.push_back(channel.get());
  }
  std::sort(fresh.begin(), fresh.end(), [](const Channel* a, const Channel* b) { return a->thread < b->thread; });
  for (Channel* channel : fresh) start(*channel);
}

void Broker::start(Channel& channel) {
  channel.started = true;
  channel.requested = channel.line->requested();
  executor_.start([this, &channel] { serve(channel); });
}

void Broker::serve(Channel& channel) {
  mutex_.lock();
  while (!channel.closed) {
    if (!channel.requested) {
      executor_.wait(mutex_, channel.point, base::kNever);
      continue;
    }
    channel.requested = false;
    channel.busy = true;
    mutex_.unlock();
    std::vector<unsigned char> reply;
    int file = -1;
    if (serve_call(machine_, *channel.client->process, channel.line->take_request(), reply, file) &&
        (file < 0 || base::send_message(channel.client->socket, "f", 1, file))) {
      channel.line->reply(reply);
    } else {
      channel.client->gone = true;
      executor_.wake(*this);
    }
    channel.busy = false;
    unsettled_ = true;
    mutex_.lock();
  }
  mutex_.unlock();
  machine_.end_thread(*channel.client->process);
  channel.finished = true;
  executor_.wake(*this);
}

void Broker::bury(Client& client) {
  if (client.process != nullptr) {
    const Stats stats = client.process->stats();
    totals_ += stats;
    if (reports_.size() < kKeepReports) {
      reports_.push_back({client.process->id(), client.pid, client.name, stats});
    }
    machine_.forget(*client.process);
  }
}

base::Nanos Broker::step(base::Nanos) {
  std::vector<Client*> alive;
  for (const auto& client : clients_) {
    if (!client->gone) {
      if (!client->channels.empty()) alive.push_back(client.get());
      continue;
    }
    if (client->killed) continue;
    client->killed = true;
    unsettled_ = true;  // calls that waited for this may come now
    client->socket.close();
    if (client->process != nullptr) machine_.kill(*client->process);
    for (const auto& channel : client->channels) {
      channel->closed = true;
      if (!channel->started) channel->finished = true;
      if (!channel->busy && channel->line->requested()) channel->line->reply({});  // it need not find out by itself
      executor_.notify_all(channel->point);
    }
  }
  std::stable_sort(alive.begin(), alive.end(), [](const Client* a, const Client* b) {
    const int first = a->process == nullptr ? 0 : a->process->id();
    const int second = b->process == nullptr ? 0 : b->process->id();
    return std::tie(first, a->lineage) < std::tie(second, b->lineage);
  });
  for (Client* client : alive) let_in(*client);
  for (const auto& client : clients_) {
    std::erase_if(client->channels, [](const auto& channel) { return channel->finished; });
  }
  std::erase_if(clients_, [this](const std::unique_ptr<Client>& client) {
    if (!client->killed || !client->channels.empty()) return false;
    bury(*client);
    return true;
  });
  executor_.join_finished();
  executor_.notify_all(changed_);
  return base::kNever;
}

}  // namespace tidegate::sim::remote
