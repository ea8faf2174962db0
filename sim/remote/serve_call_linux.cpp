#include "sim/remote/marshal.h"
#include "sim/remote/peer_host.h"
#include "sim/remote/serve_call.h"
#include "sim/windows_answers.h"

namespace tidegate::sim::remote {

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLongestImage = 64 * kMiB;

void* address(std::uintptr_t number) { return reinterpret_cast<void*>(number); }  // NOLINT: the client's

// A module's image: text up to its end, or as much of machine code as shows that it is that. Empty: cannot be read.
std::vector<char> read_image(HostAccess& host, std::uintptr_t from) {
  std::vector<char> image;
  while (image.size() < kLongestImage) {
    const std::size_t part = kPageBytes - (from + image.size()) % kPageBytes;
    const std::size_t at = image.size();
    image.resize(at + part);
    if (!host.read(image.data() + at, address(from + at), part)) {
      image.resize(at);
      break;
    }
    if (std::find(image.begin() + static_cast<std::ptrdiff_t>(at), image.end(), '\0') != image.end()) return image;
  }
  if (!image.empty()) image.push_back('\0');
  return image;
}

bool initialise(Process& process, Reader& in, Writer& out) {
  const auto flags = in.get<unsigned>();
  if (!in.ok()) return false;
  out.put(process.driver().init(flags));
  return true;
}

bool tell_error(Process& process, Id id, Reader& in, Writer& out) {
  const auto status = in.get<cu::Status>();
  if (!in.ok()) return false;
  const char* text = nullptr;
  driver::Driver& driver = process.driver();
  out.put(id == Id::get_error_name ? driver.get_error_name(status, &text) : driver.get_error_string(status, &text));
  out.put(static_cast<unsigned char>(text != nullptr));
  out.put_text(text == nullptr ? "" : text);
  return true;
}

bool pin(Process& process, Reader& in, Writer& out) {
  const bool given = in.get<unsigned char>() != 0;
  const auto base = in.get<std::uintptr_t>();
  const auto bytes = in.get<std::uint64_t>();
  const auto flags = in.get<unsigned>();
  if (!in.ok()) return false;
  PeerHost::offer(address(base));
  void* made = nullptr;
  out.put(process.driver().mem_host_alloc(given ? &made : nullptr, bytes, flags));
  PeerHost::offer(nullptr);
  return true;
}

bool unpin(Process& process, Reader& in, Writer& out) {
  const auto base = in.get<std::uintptr_t>();
  if (!in.ok()) return false;
  out.put(process.driver().mem_free_host(address(base)));
  return true;
}

bool pool_attribute(Process& process, Id id, Reader& in, Writer& out) {
  const auto pool = in.get<cu::MemPool>();
  const auto attribute = in.get<cu::MemPoolAttribute>();
  const bool given = in.get<unsigned char>() != 0;
  auto value = in.get<std::uint64_t>();
  if (!in.ok()) return false;
  void* const where = given ? &value : nullptr;
  driver::Driver& driver = process.driver();
  out.put(id == Id::mem_pool_set_attribute ? driver.mem_pool_set_attribute(pool, attribute, where)
                                           : driver.mem_pool_get_attribute(pool, attribute, where));
  out.put(value);
  return true;
}

bool load_module(Process& process, Reader& in, Writer& out) {
  const bool given = in.get<unsigned char>() != 0;
  const auto from = in.get<std::uintptr_t>();
  if (!in.ok()) return false;
  std::vector<char> image;
  if (from != 0) image = read_image(process.host_memory, from);
  image.resize(std::max<std::size_t>(image.size(), from == 0 ? 0 : 8), '\0');
  cu::Module module = nullptr;
  out.put(process.driver().module_load_data(given ? &module : nullptr, image.empty() ? nullptr : image.data()));
  out.put(module);
  return true;
}

bool list_processes(Process& process, Reader& in, Writer& out) {
  const auto device = in.get<nvml::Device>();
  const bool counted = in.get<unsigned char>() != 0;
  auto count = in.get<unsigned>();
  const bool listed = in.get<unsigned char>() != 0;
  if (!in.ok() || count > kMostElements) return false;
  std::vector<nvml::ProcessInfo> infos(count + 1);
  const unsigned room = count;
  const nvml::Status status = process.nvml().device_get_compute_running_processes_v3(device, counted ? &count : nullptr,
                                                                                     listed ? infos.data() : nullptr);
  out.put(status);
  out.put(count);
  const std::uint32_t told = listed && status != nvml::kUninitialized ? std::min(count, room) : 0;
  out.put(told);
  for (std::uint32_t i = 0; i < told; ++i) out.put(infos[i]);
  return true;
}

template <Id id, typename... P>
bool serve_cuda(Process& process, cu::Status (driver::Driver::*method)(P...), Reader& in, Writer& out) {
  if constexpr (!is_special(id)) {
    check_parameters<id, P...>();
    return serve(process.driver(), method, in, out);
  } else if constexpr (id == Id::init) {
    return initialise(process, in, out);
  } else if constexpr (id == Id::get_error_name || id == Id::get_error_string) {
    return tell_error(process, id, in, out);
  } else if constexpr (id == Id::mem_host_alloc) {
    return pin(process, in, out);
  } else if constexpr (id == Id::mem_free_host) {
    return unpin(process, in, out);
  } else if constexpr (id == Id::mem_pool_set_attribute || id == Id::mem_pool_get_attribute) {
    return pool_attribute(process, id, in, out);
  } else {
    static_assert(id == Id::module_load_data);
    return load_module(process, in, out);
  }
}

template <NvmlId id, typename... P>
bool serve_nvml(Process& process, nvml::Status (driver::Nvml::*method)(P...), Reader& in, Writer& out) {
  if constexpr (is_special(id)) {
    return list_processes(process, in, out);
  } else {
    check_parameters<id, P...>();
    return serve(process.nvml(), method, in, out);
  }
}

bool serve_function(Process& process, Table table, std::uint32_t number, Reader& in, Writer& out) {
  if (table == Table::kCuda) {
    switch (static_cast<Id>(number)) {
#define TG_SERVE(method, symbol, need, parameters, arguments) \
  case Id::method:                                            \
    return serve_cuda<Id::method>(process, &driver::Driver::method, in, out);
      TG_CUDA_FUNCTIONS(TG_SERVE)
#undef TG_SERVE
    }
  } else if (table == Table::kNvml) {
    switch (static_cast<NvmlId>(number)) {
#define TG_SERVE(method, symbol, need, parameters, arguments) \
  case NvmlId::method:                                        \
    return serve_nvml<NvmlId::method>(process, &driver::Nvml::method, in, out);
      TG_NVML_FUNCTIONS(TG_SERVE)
#undef TG_SERVE
    }
  }
  return false;
}

// Lets the process in if its memory can be reached: the proof is a number that it names and that lies there.
bool welcome(Process& process, Reader& in, Writer& out) {
  const auto protocol = in.get<std::uint32_t>();
  const auto where = in.get<std::uintptr_t>();
  const auto proof = in.get<std::uint64_t>();
  if (!in.ok()) return false;
  std::uint64_t found = 0;
  std::string why;
  if (protocol != kProtocol) {
    why = "it speaks protocol " + std::to_string(kProtocol) + ", this library " + std::to_string(protocol);
  } else if (!process.host_memory.read(&found, address(where), sizeof found) || found != proof) {
    why = "the system does not let it read this process's memory (process_vm_readv); see kernel.yama.ptrace_scope";
  }
  out.put(why.empty() ? kProtocol : 0u);
  out.put_text(why.empty() ? process.driver().description() : why);
  return true;
}

bool share_bytes(Machine& machine, Process& process, Reader& in, Writer& out, int& file) {
  const auto address = in.get<cu::DevicePtr>();
  const auto bytes = in.get<std::uint64_t>();
  if (!in.ok()) return false;
  const auto shared = machine.share_bytes(process, address, bytes);
  Error why = shared ? Error{Errc::kIo, ""} : shared.error();
  if (shared && shared.value().file < 0) why.message = "the system has no memory to share it in";
  if (why.message.empty()) file = shared.value().file;
  out.put(static_cast<std::uint64_t>(shared ? shared.value().offset : 0));
  out.put(why.code);
  out.put_text(why.message);
  return true;
}

bool ask_windows(Process& process, Reader& in, Writer& out) {
  const auto call = in.get<WindowsCall>();
  if (call == WindowsCall::kQueryStatistics) {
    auto query = in.get<win::QueryStatistics>();
    if (!in.ok()) return false;
    out.put(win::query_statistics(process, &query));
    out.put(query);
    return true;
  }
  const int card = in.get<int>();
  if (call == WindowsCall::kDescribeAdapter) {
    if (!in.ok()) return false;
    win::AdapterDescription description;
    out.put(static_cast<unsigned char>(win::describe_adapter(process, card, &description)));
    out.put_text(description.name);
    out.put(description.luid);
    out.put(description.dedicated);
    out.put(description.shared);
    return true;
  }
  if (call != WindowsCall::kQueryVideoMemoryInfo) return false;
  const auto node = in.get<std::uint32_t>();
  const auto group = in.get<win::SegmentGroup>();
  if (!in.ok()) return false;
  win::QueryVideoMemoryInfo info{};
  out.put(win::query_video_memory_info(process, card, node, group, &info));
  out.put(info);
  return true;
}

}  // namespace

bool serve_call(Machine& machine, Process& process, const std::vector<unsigned char>& request,
                std::vector<unsigned char>& reply, int& file) {
  file = -1;
  Reader in(request.data(), request.size());
  Writer out;
  const auto table = in.get<Table>();
  bool understood = false;
  if (table == Table::kHello) {
    understood = welcome(process, in, out);
  } else if (table == Table::kBytes) {
    understood = share_bytes(machine, process, in, out, file);
  } else if (table == Table::kWindows) {
    understood = ask_windows(process, in, out);
  } else if (table == Table::kTime) {
    out.put(machine.now());
    understood = in.ok();
  } else {
    const auto number = in.get<std::uint32_t>();
    understood = in.ok() && serve_function(process, table, number, in, out);
  }
  reply = out.bytes();
  return understood;
}

}  // namespace tidegate::sim::remote
