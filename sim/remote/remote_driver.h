// The driver's table and NVML's, each function a call to the broker.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/remote/connection.h"
#include "sim/remote/marshal.h"
#include "src/base/address_range.h"
#include "src/base/mutex.h"

namespace tidegate::sim::remote {

// The connection that the calling process may use now.
class Link {
 public:
  Link(std::string socket_name, std::shared_ptr<Connection> first)
      : socket_name_(std::move(socket_name)), connection_(std::move(first)), description_(connection_->description()) {}

  // Null: a forked child of a process that had initialised the driver, or the broker does not let it in.
  std::shared_ptr<Connection> get();
  void initialised();  // from now on a forked child is not let in
  const char* description() const { return description_.c_str(); }

  // The call's status, or what stands for "no broker" and "never initialised" in that table.
  template <typename Status, typename Take>
  Status call(const Writer& request, Status lost, Status forked, Take&& take) {
    const std::shared_ptr<Connection> connection = get();
    if (connection == nullptr) return forked;
    std::vector<unsigned char> reply;
    if (!connection->call(request, reply)) return lost;
    Reader in(reply.data(), reply.size());
    const auto status = in.get<Status>();
    if (!in.ok()) return lost;
    take(in);
    return status;
  }

 private:
  const std::string socket_name_;
  base::Mutex mutex_;  // guards what follows
  std::shared_ptr<Connection> connection_;
  bool initialised_ = false;
  const std::string description_;
};

class RemoteDriver final : public driver::Driver {
 public:
  using Status = cu::Status;
  using Device = cu::Device;
  using DeviceAttribute = cu::DeviceAttribute;
  using Uuid = cu::Uuid;
  using MemPool = cu::MemPool;
  using Context = cu::Context;
  using DevicePtr = cu::DevicePtr;
  using MemProp = cu::MemProp;
  using MemGranularity = cu::MemGranularity;
  using MemHandle = cu::MemHandle;
  using MemAccess = cu::MemAccess;
  using Stream = cu::Stream;
  using Event = cu::Event;
  using CaptureStatus = cu::CaptureStatus;
  using CaptureMode = cu::CaptureMode;
  using Graph = cu::Graph;
  using MemPoolProps = cu::MemPoolProps;
  using MemPoolAttribute = cu::MemPoolAttribute;
  using Module = cu::Module;
  using Function = cu::Function;

  explicit RemoteDriver(Link& link) : link_(link) {}

  const char* description() const override { return link_.description(); }

#define TG_DECLARE(method, symbol, need, parameters, arguments) Status method parameters override;
  TG_CUDA_FUNCTIONS(TG_DECLARE)
#undef TG_DECLARE

 private:
  template <Id id>
  using Special = std::integral_constant<Id, id>;
  template <Id id, typename... P>
  Status invoke(Status (driver::Driver::*method)(P...), const std::tuple<P...>& values);
  Status special(Special<Id::init>, unsigned flags);
  Status special(Special<Id::get_error_name>, Status status, const char** text);
  Status special(Special<Id::get_error_string>, Status status, const char** text);
  Status special(Special<Id::mem_host_alloc>, void** ptr, std::size_t bytes, unsigned flags);
  Status special(Special<Id::mem_free_host>, void* ptr);
  Status special(Special<Id::mem_pool_set_attribute>, MemPool pool, MemPoolAttribute attribute, void* value);
  Status special(Special<Id::mem_pool_get_attribute>, MemPool pool, MemPoolAttribute attribute, void* value);
  Status special(Special<Id::module_load_data>, Module* module, const void* image);
  Status error_text(Id id, Status status, const char** text);
  template <typename Take>
  Status send(const Writer& request, Take&& take);

  Link& link_;
  base::Mutex mutex_;  // guards what follows
  std::map<void*, base::AddressRange> pinned_;
  std::set<std::string> texts_;  // handed out; live as long as the driver
};

class RemoteNvml final : public driver::Nvml {
 public:
  explicit RemoteNvml(Link& link) : link_(link) {}

  const char* description() const override { return link_.description(); }
  const char* error_string(nvml::Status status) override;

#define TG_DECLARE(method, symbol, need, parameters, arguments) nvml::Status method parameters override;
  TG_NVML_FUNCTIONS(TG_DECLARE)
#undef TG_DECLARE

 private:
  template <NvmlId id, typename... P>
  nvml::Status invoke(nvml::Status (driver::Nvml::*method)(P...), const std::tuple<P...>& values);
  nvml::Status processes(nvml::Device device, unsigned* count, nvml::ProcessInfo* infos);

  Link& link_;
};

}  // namespace tidegate::sim::remote
