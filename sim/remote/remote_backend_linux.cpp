#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <sys/mman.h>

#include "sim/remote/connect.h"
#include "sim/remote/connection.h"
#include "sim/remote/remote_driver.h"

namespace tidegate::sim {
namespace {

constexpr Bytes kPage = 4096;

class RemoteBackend final : public Backend {
 public:
  RemoteBackend(const std::string& socket_name, std::shared_ptr<remote::Connection> connection)
      : link_(socket_name, std::move(connection)) {}
  driver::Driver& driver() override { return driver_; }
  driver::Nvml& nvml() override { return nvml_; }

  Result<const void*> map_bytes(cu::DevicePtr address, Bytes bytes) override {
    const std::shared_ptr<remote::Connection> connection = link_.get();
    remote::Writer request;
    request.put(remote::Table::kBytes);
    request.put(address);
    request.put(static_cast<std::uint64_t>(bytes));
    std::vector<unsigned char> reply;
    base::FileHandle file;
    if (connection == nullptr || !connection->call(request, reply, file)) {
      return Error{Errc::kClosed, "the broker has gone"};
    }
    remote::Reader in(reply.data(), reply.size());
    const auto offset = in.get<std::uint64_t>();
    const auto code = in.get<Errc>();
    const std::string why = in.get_text();
    if (!in.ok()) return Error{Errc::kClosed, "the broker has gone"};
    if (!why.empty()) return Error{code, why};
    const Bytes begin = round_down(offset, kPage);
    const Bytes size = offset - begin + bytes;
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(begin));
    if (mapped == MAP_FAILED) {
      return Error{Errc::kIo, std::string("mapping device bytes: ") + std::strerror(errno)};
    }
    const void* at = static_cast<const std::byte*>(mapped) + (offset - begin);
    const base::Lock lock(mutex_);
    views_[at] = {mapped, size};
    return at;
  }
  Result<std::int64_t> now() override {
    const std::shared_ptr<remote::Connection> connection = link_.get();
    remote::Writer request;
    request.put(remote::Table::kTime);
    std::vector<unsigned char> reply;
    if (connection != nullptr && connection->call(request, reply)) {
      remote::Reader in(reply.data(), reply.size());
      const auto time = in.get<std::int64_t>();
      if (in.ok()) return time;
    }
    return Error{Errc::kClosed, "the broker has gone"};
  }
  void unmap_bytes(const void* mapped) override {
    const base::Lock lock(mutex_);
    const auto view = views_.find(mapped);
    if (view == views_.end()) return;
    (void)::munmap(view->second.base, view->second.size);
    views_.erase(view);
  }

  bool describe_adapter(int card, win::AdapterDescription* description) override {
    remote::Writer request = ask(remote::WindowsCall::kDescribeAdapter);
    request.put(card);
    bool there = false;
    const bool answered = answer(request, [&](remote::Reader& in) {
      there = in.get<unsigned char>() != 0;
      *description = {in.get_text(), in.get<win::Luid>(), in.get<Bytes>(), in.get<Bytes>()};
    });
    return answered && there;
  }
  win::HResult query_video_memory_info(int card, std::uint32_t node, win::SegmentGroup group,
                                       win::QueryVideoMemoryInfo* info) override {
    if (info == nullptr) return win::kInvalidCall;
    remote::Writer request = ask(remote::WindowsCall::kQueryVideoMemoryInfo);
    request.put(card);
    request.put(node);
    request.put(group);
    win::HResult result = win::kUnsupported;
    const bool answered = answer(request, [&](remote::Reader& in) {
      result = in.get<win::HResult>();
      if (result == win::kOk) *info = in.get<win::QueryVideoMemoryInfo>();
    });
    return answered ? result : win::kUnsupported;
  }
  win::NtStatus query_statistics(win::QueryStatistics* query) override {
    if (query == nullptr) return win::kStatusInvalidParameter;
    remote::Writer request = ask(remote::WindowsCall::kQueryStatistics);
    request.put(*query);
    win::NtStatus result = win::kStatusNotSupported;
    const bool answered = answer(request, [&](remote::Reader& in) {
      result = in.get<win::NtStatus>();
      if (result == win::kStatusSuccess) *query = in.get<win::QueryStatistics>();
    });
    return answered ? result : win::kStatusNotSupported;
  }

 private:
  static remote::Writer ask(remote::WindowsCall call) {
    remote::Writer request;
    request.put(remote::Table::kWindows);
    request.put(call);
    return request;
  }
  // False: nobody answers, or not in full.
  template <typename Take>
  bool answer(const remote::Writer& request, Take&& take) {
    const std::shared_ptr<remote::Connection> connection = link_.get();
    std::vector<unsigned char> reply;
    if (connection == nullptr || !connection->call(request, reply)) return false;
    remote::Reader in(reply.data(), reply.size());
    take(in);
    return in.ok();
  }

  remote::Link link_;
  remote::RemoteDriver driver_{link_};
  remote::RemoteNvml nvml_{link_};

  struct View {
    void* base = nullptr;
    Bytes size = 0;
  };
  base::Mutex mutex_;  // guards views_
  std::map<const void*, View> views_;
};

}  // namespace

Result<std::unique_ptr<Backend>> connect_backend(const std::string& socket_name) {
  auto connection = remote::Connection::open(socket_name);
  if (!connection) return connection.error();
  return std::unique_ptr<Backend>(std::make_unique<RemoteBackend>(socket_name, std::move(connection).value()));
}

}  // namespace tidegate::sim
