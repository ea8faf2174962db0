// Modules and kernels.
#include <algorithm>

#include "sim/ptx.h"
#include "sim/sim_call.h"

namespace tidegate::sim {

cu::Status SimDriver::module_load_data(Module* module, const void* image) {
  return run_call(world_, process_, Id::module_load_data, cost_of(world_, Id::module_load_data, 0), [&](Call& call) {
    if (module == nullptr || image == nullptr) return cu::kInvalidValue;
    std::vector<const BuiltinKernel*> entries;
    std::string why;
    const cu::Status status = read_module(image, entries, why);
    if (status != cu::kSuccess) {
      world_.message("process " + std::to_string(process_.id()) + ": " + why);
      return status;
    }
    auto made = std::make_shared<ModuleObject>();
    made->context = call.context->handle;
    const std::uint64_t handle = process_.new_handle();
    for (const BuiltinKernel* entry : entries) {
      const std::uint64_t function = process_.new_handle();
      process_.functions[function] = {handle, entry->id};
      made->functions[entry->name] = function;
    }
    process_.modules[handle] = std::move(made);
    *module = to_handle<cu::Module>(handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::module_unload(Module module) {
  return run_call(world_, process_, Id::module_unload, cost_of(world_, Id::module_unload, 0), [&](Call&) {
    const auto* found = find_in(process_.modules, to_number(module));
    if (found == nullptr) return cu::kInvalidHandle;
    for (const auto& [name, function] : (*found)->functions) process_.functions.erase(function);
    process_.modules.erase(to_number(module));
    return cu::kSuccess;
  });
}

cu::Status SimDriver::module_get_function(Function* function, Module module, const char* name) {
  return run_call(world_, process_, Id::module_get_function, cost_of(world_, Id::module_get_function, 0), [&](Call&) {
    if (function == nullptr || name == nullptr) return cu::kInvalidValue;
    const auto* found = find_in(process_.modules, to_number(module));
    if (found == nullptr) return cu::kInvalidHandle;
    const auto entry = (*found)->functions.find(name);
    if (entry == (*found)->functions.end()) return cu::kNotFound;
    *function = to_handle<cu::Function>(entry->second);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::launch_kernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                    Stream handle, void** params, void** extra) {
  return run_call(world_, process_, Id::launch_kernel, cost_of(world_, Id::launch_kernel, 0), [&](Call& call) {
    constexpr std::uint64_t kMaxThreads = 1024;
    constexpr unsigned kMaxShared = 48 * 1024;
    if (grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x == 0 || block_y == 0 || block_z == 0)
      return cu::kInvalidValue;
    if (std::uint64_t{block_x} * block_y * block_z > kMaxThreads || shared_bytes > kMaxShared) return cu::kInvalidValue;
    const auto* found = find_in(process_.functions, to_number(function));
    if (found == nullptr) return cu::kInvalidHandle;
    const KernelId kernel = found->kernel;
    if (params == nullptr || extra != nullptr) return cu::kInvalidValue;
    std::uint64_t values[3] = {};
    for (std::size_t i = 0; i < builtin(kernel).parameters; ++i) {
      const void* parameter = nullptr;
      if (!process_.host_memory.read(&parameter, params + i, sizeof parameter) || parameter == nullptr ||
          !process_.host_memory.read(&values[i], parameter, sizeof values[i])) {
        return cu::kInvalidValue;
      }
    }
    std::shared_ptr<sim::Stream> stream;
    cu::Status status = find_stream(call, handle, stream);
    if (status != cu::kSuccess || captured(call, stream, status)) return status;
    status = queue_room(call, stream);
    if (status != cu::kSuccess) return status;
    const std::shared_ptr<Op> op = new_op(call, OpKind::kKernel, stream);
    const Profile& profile = world_.cards[static_cast<std::size_t>(stream->context->card)]->profile;
    op->kernel = kernel;
    const bool fills = std::uint64_t{grid_x} * grid_y * grid_z >= static_cast<std::uint64_t>(profile.multiprocessors);
    op->engine = fills ? EngineKind::kCompute : EngineKind::kBeside;
    op->bytes = values[1];
    resolve(call, *op, values[0], values[1], cu::kAccessRead, op->source);
    if (kernel == KernelId::kChecksum) {
      resolve(call, *op, values[2], sizeof(std::uint64_t), cu::kAccessReadWrite, op->destination);
      op->duration = profile.kernel_latency_ns + Profile::transfer_ns(values[1], profile.vram_gb_per_s);
    } else {
      constexpr std::uint64_t kDay = 86'400'000'000'000;
      op->duration = static_cast<base::Nanos>(std::min(values[2], kDay));
    }
    submit(call, op);
    return cu::kSuccess;
  });
}

}  // namespace tidegate::sim
