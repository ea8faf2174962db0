#include "sim/local_backend.h"

#include <cstdio>
#include <optional>
#include <utility>

#include "sim/hazards_json.h"
#include "sim/machine.h"
#include "sim/visiting.h"
#include "src/base/system_info.h"
#include "src/base/thread_executor.h"
#include "src/base/write_file.h"

namespace tidegate::sim {
namespace {

using Visit = base::VirtualExecutor::Visit;

void say(const std::string& line) { std::fprintf(stderr, "tidegate: %s\n", line.c_str()); }

class LocalBackend final : public Backend {
 public:
  LocalBackend(const LocalOptions& options, const Profile& profile)
      : options_(options), executor_(make_executor(options)), machine_(*executor_, options.seed, machine_options()) {
    machine_.add_card(profile);
    process_ = &machine_.start_process("this process", base::process_id());
    if (!options_.virtual_time) return;
    world_ = static_cast<base::VirtualExecutor*>(executor_.get());
    world_->open_door();
    visiting_driver_ = std::make_unique<visiting::VisitingDriver>(*world_, process_->driver());
    visiting_nvml_ = std::make_unique<visiting::VisitingNvml>(*world_, process_->nvml());
  }
  LocalBackend(const LocalBackend&) = delete;
  LocalBackend& operator=(const LocalBackend&) = delete;
  ~LocalBackend() override = default;

  driver::Driver& driver() override {
    return visiting_driver_ != nullptr ? static_cast<driver::Driver&>(*visiting_driver_) : process_->driver();
  }
  driver::Nvml& nvml() override {
    return visiting_nvml_ != nullptr ? static_cast<driver::Nvml&>(*visiting_nvml_) : process_->nvml();
  }

  Result<const void*> map_bytes(cu::DevicePtr address, Bytes bytes) override {
    const auto visit = enter();
    const auto shared = machine_.share_bytes(*process_, address, bytes);
    if (!shared) return shared.error();
    return static_cast<const void*>(shared.value().data);
  }
  void unmap_bytes(const void*) override {}
  Result<std::int64_t> now() override {
    const auto visit = enter();
    return machine_.now();
  }

  bool describe_adapter(int card, win::AdapterDescription* description) override {
    const auto visit = enter();
    return win::describe_adapter(*process_, card, description);
  }
  win::HResult query_video_memory_info(int card, std::uint32_t node, win::SegmentGroup group,
                                       win::QueryVideoMemoryInfo* info) override {
    const auto visit = enter();
    return win::query_video_memory_info(*process_, card, node, group, info);
  }
  win::HResult set_video_memory_reservation(int card, std::uint32_t node, win::SegmentGroup group,
                                            std::uint64_t bytes) override {
    const auto visit = enter();
    return win::set_video_memory_reservation(*process_, card, node, group, bytes);
  }
  win::NtStatus query_statistics(win::QueryStatistics* query) override {
    const auto visit = enter();
    return win::query_statistics(*process_, query);
  }

  void at_exit() override {
    const auto visit = enter();
    const auto write = [](const std::string& path, const std::string& text) {
      if (auto written = base::write_file(path, text); !written) say(written.error().message);
    };
    if (!options_.hazards.empty()) write(options_.hazards, hazards_json(machine_.hazards(), process_->stats()));
    if (!options_.trace.empty()) write(options_.trace, machine_.trace());
  }

 private:
  static std::unique_ptr<base::Executor> make_executor(const LocalOptions& options) {
    if (options.virtual_time) return std::make_unique<base::VirtualExecutor>(options.seed);
    return std::make_unique<base::ThreadExecutor>();
  }
  MachineOptions machine_options() const {
    MachineOptions options;
    options.trace = !options_.trace.empty();
    options.tags_from = options_.tags_from;
    options.on_message = say;
    return options;
  }
  std::unique_ptr<Visit> enter() { return world_ == nullptr ? nullptr : std::make_unique<Visit>(*world_); }

  const LocalOptions options_;
  const std::unique_ptr<base::Executor> executor_;
  base::VirtualExecutor* world_ = nullptr;  // the executor, where time is virtual
  Machine machine_;
  Process* process_ = nullptr;
  std::unique_ptr<visiting::VisitingDriver> visiting_driver_;
  std::unique_ptr<visiting::VisitingNvml> visiting_nvml_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_local_backend(const LocalOptions& options) {
  Result<Profile> loaded = load_profile(options.card, options.changes);
  if (!loaded) return loaded.error();
  for (const std::string& path : {options.hazards, options.trace}) {
    if (path.empty()) continue;
    if (auto fine = base::can_write_file(path); !fine) return fine.error();
  }
  return std::unique_ptr<Backend>(std::make_unique<LocalBackend>(options, loaded.value()));
}

}  // namespace tidegate::sim
