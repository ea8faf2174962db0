#include <utility>

#include "sim/remote/remote_driver.h"

namespace tidegate::sim::remote {

std::shared_ptr<Connection> Link::get() {
  const base::Lock lock(mutex_);
  if (connection_->own_process()) return connection_;
  if (initialised_) return nullptr;
  auto opened = Connection::open(socket_name_);
  if (!opened) return nullptr;
  connection_ = std::move(opened).value();
  return connection_;
}

void Link::initialised() {
  const base::Lock lock(mutex_);
  initialised_ = true;
}

namespace {

Writer request_for(Id id) {
  Writer request;
  request.put(Table::kCuda);
  request.put(static_cast<std::uint32_t>(id));
  return request;
}

// Of a pool's attribute, as the driver's header says.
std::size_t size_of(cu::MemPoolAttribute attribute) {
  return attribute >= cu::kPoolReleaseThreshold ? sizeof(std::uint64_t) : sizeof(int);
}

}  // namespace

template <typename Take>
cu::Status RemoteDriver::send(const Writer& request, Take&& take) {
  return link_.call(request, cu::kDeinitialized, cu::kNotInitialized, take);
}

template <Id id, typename... P>
cu::Status RemoteDriver::invoke(Status (driver::Driver::*)(P...), const std::tuple<P...>& values) {
  if constexpr (is_special(id)) {
    return std::apply([this](P... each) { return special(Special<id>{}, each...); }, values);
  } else {
    check_parameters<id, P...>();
    Writer request = request_for(id);
    if (!put_parameters(request, values)) return cu::kInvalidValue;
    return send(request, [&](Reader& in) { get_results(in, values); });
  }
}

#define TG_INVOKE(method, symbol, need, parameters, arguments)                                         \
  cu::Status RemoteDriver::method parameters {                                                         \
    return invoke<Id::method>(&driver::Driver::method, decltype(std::make_tuple arguments) arguments); \
  }
TG_CUDA_FUNCTIONS(TG_INVOKE)
#undef TG_INVOKE

cu::Status RemoteDriver::special(Special<Id::init>, unsigned flags) {
  Writer request = request_for(Id::init);
  request.put(flags);
  const Status status = send(request, [](Reader&) {});
  if (status == cu::kSuccess) link_.initialised();
  return status;
}

cu::Status RemoteDriver::error_text(Id id, Status status, const char** text) {
  if (text == nullptr) return cu::kInvalidValue;
  Writer request = request_for(id);
  request.put(status);
  return send(request, [&](Reader& in) {
    const bool known = in.get<unsigned char>() != 0;
    std::string found = in.get_text();
    const base::Lock lock(mutex_);
    *text = known ? texts_.insert(std::move(found)).first->c_str() : nullptr;
  });
}

cu::Status RemoteDriver::special(Special<Id::get_error_name>, Status status, const char** text) {
  return error_text(Id::get_error_name, status, text);
}

cu::Status RemoteDriver::special(Special<Id::get_error_string>, Status status, const char** text) {
  return error_text(Id::get_error_string, status, text);
}

// The memory is the client's own; the broker only notes that it is page-locked.
cu::Status RemoteDriver::special(Special<Id::mem_host_alloc>, void** ptr, std::size_t bytes, unsigned flags) {
  base::AddressRange range;
  if (ptr != nullptr && bytes > 0) {
    auto reserved = base::AddressRange::reserve(bytes);
    if (!reserved || !reserved.value().make_usable(0, bytes)) return cu::kOutOfMemory;
    range = std::move(reserved).value();
  }
  Writer request = request_for(Id::mem_host_alloc);
  request.put(static_cast<unsigned char>(ptr != nullptr));
  request.put(reinterpret_cast<std::uintptr_t>(range.data()));
  request.put(static_cast<std::uint64_t>(bytes));
  request.put(flags);
  const Status status = send(request, [](Reader&) {});
  if (status != cu::kSuccess || ptr == nullptr) return status;
  *ptr = range.data();
  const base::Lock lock(mutex_);
  if (range.data() != nullptr) pinned_[range.data()] = std::move(range);
  return status;
}

cu::Status RemoteDriver::special(Special<Id::mem_free_host>, void* ptr) {
  Writer request = request_for(Id::mem_free_host);
  request.put(reinterpret_cast<std::uintptr_t>(ptr));
  const Status status = send(request, [](Reader&) {});
  const base::Lock lock(mutex_);
  if (status == cu::kSuccess) pinned_.erase(ptr);
  return status;
}

cu::Status RemoteDriver::special(Special<Id::mem_pool_set_attribute>, MemPool pool, MemPoolAttribute attribute,
                                 void* value) {
  Writer request = request_for(Id::mem_pool_set_attribute);
  request.put(pool);
  request.put(attribute);
  request.put(static_cast<unsigned char>(value != nullptr));
  std::uint64_t bytes = 0;
  if (value != nullptr) std::memcpy(&bytes, value, size_of(attribute));
  request.put(bytes);
  return send(request, [](Reader&) {});
}

cu::Status RemoteDriver::special(Special<Id::mem_pool_get_attribute>, MemPool pool, MemPoolAttribute attribute,
                                 void* value) {
  Writer request = request_for(Id::mem_pool_get_attribute);
  request.put(pool);
  request.put(attribute);
  request.put(static_cast<unsigned char>(value != nullptr));
  request.put(std::uint64_t{0});
  return send(request, [&](Reader& in) {
    const auto bytes = in.get<std::uint64_t>();
    if (value != nullptr && in.ok()) std::memcpy(value, &bytes, size_of(attribute));
  });
}

// The broker reads the image where it is: only it knows how far to read.
cu::Status RemoteDriver::special(Special<Id::module_load_data>, Module* module, const void* image) {
  Writer request = request_for(Id::module_load_data);
  request.put(static_cast<unsigned char>(module != nullptr));
  request.put(reinterpret_cast<std::uintptr_t>(image));
  return send(request, [&](Reader& in) {
    const auto made = in.get<Module>();
    if (module != nullptr && in.ok() && made != nullptr) *module = made;
  });
}

}  // namespace tidegate::sim::remote
