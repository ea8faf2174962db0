#include "sim/local_backend.h"

#include <cstdio>
#include <utility>

#include "sim/machine.h"
#include "src/base/system_info.h"
#include "src/base/thread_executor.h"

namespace tidegate::sim {
namespace {

class LocalBackend final : public Backend {
 public:
  explicit LocalBackend(const Profile& profile) : machine_(executor_, 1, options()) {
    machine_.add_card(profile);
    process_ = &machine_.start_process("this process", base::process_id());
  }
  LocalBackend(const LocalBackend&) = delete;
  LocalBackend& operator=(const LocalBackend&) = delete;
  ~LocalBackend() override = default;

  driver::Driver& driver() override { return process_->driver(); }
  driver::Nvml& nvml() override { return process_->nvml(); }

  Result<const void*> map_bytes(cu::DevicePtr address, Bytes bytes) override {
    const auto shared = machine_.share_bytes(*process_, address, bytes);
    if (!shared) return shared.error();
    return static_cast<const void*>(shared.value().data);
  }
  void unmap_bytes(const void*) override {}
  Result<std::int64_t> now() override { return machine_.now(); }

  bool describe_adapter(int card, win::AdapterDescription* description) override {
    return win::describe_adapter(*process_, card, description);
  }
  win::HResult query_video_memory_info(int card, std::uint32_t node, win::SegmentGroup group,
                                       win::QueryVideoMemoryInfo* info) override {
    return win::query_video_memory_info(*process_, card, node, group, info);
  }
  win::HResult set_video_memory_reservation(int card, std::uint32_t node, win::SegmentGroup group,
                                            std::uint64_t bytes) override {
    return win::set_video_memory_reservation(*process_, card, node, group, bytes);
  }
  win::NtStatus query_statistics(win::QueryStatistics* query) override {
    return win::query_statistics(*process_, query);
  }

 private:
  static MachineOptions options() {
    MachineOptions options;
    options.on_message = [](const std::string& line) { std::fprintf(stderr, "tidegate: %s\n", line.c_str()); };
    return options;
  }

  base::ThreadExecutor executor_;
  Machine machine_;
  Process* process_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_local_backend(const std::string& profile,
                                                    const std::vector<std::string>& changes) {
  Result<Profile> loaded = load_profile(profile, changes);
  if (!loaded) return loaded.error();
  return std::unique_ptr<Backend>(std::make_unique<LocalBackend>(loaded.value()));
}

}  // namespace tidegate::sim
