#include "tests/support/programs/golden_process.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "src/driver/cuda_driver.h"
#include "src/driver/kernels.h"
#include "src/driver/nvml_library.h"

namespace tidegate::golden {

namespace {

using driver::Driver;

constexpr Bytes kPart = kGiB;
constexpr Bytes kPage = 32 * kMiB;

double mib(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }
// In whole granules, so that what is asked for is what is charged.
Bytes granules(double size_mib) { return static_cast<Bytes>(size_mib / 2 + 0.5) * 2 * kMiB; }

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "golden_processes: %s\n", what.c_str());
  std::exit(1);
}

// Throws the status of a call that failed, to be printed.
void must(cu::Status status) {
  if (status != cu::kSuccess) throw status;
}

class Steps {
 public:
  std::string carry_out(const std::string& what, std::istringstream& rest) {
    double number = 0;
    if (what == "open") return open(), "";
    if (what == "close") return must(cuda().device_primary_ctx_release(0)), "";
    if (what == "free") return text(free_mib());
    if (what == "nvml") return text(nvml_free_mib());
    if (what == "give") return give(), "";
    if (what == "pass") return text(pass());
    if (what == "churn") return churn(rest), "";
    if (!(rest >> number)) fail("unknown step: " + what);
    if (what == "take") return take(granules(number)), "";
    if (what == "map") return map(granules(number)), "";
    if (what == "grow") return grow(granules(number)), "";
    if (what == "fill") return grow(granules(std::max(0.0, nvml_free_mib() - number))), "";
    double microseconds = 0;
    if (what != "busy" || !(rest >> microseconds)) fail("unknown step: " + what);
    for (int i = 0; i < static_cast<int>(number); ++i) {
      work(microseconds);
      must(cuda().memset_d8_async(held_.front().ptr, 1, 4, stream_));
      must(cuda().stream_synchronize(stream_));
    }
    return "";
  }

 private:
  struct Piece {
    cu::DevicePtr ptr = 0;
    Bytes bytes = 0;
    cu::MemHandle handle = 0;  // 0: of cuMemAlloc
  };

  static std::string text(double number) {
    char line[64];
    std::snprintf(line, sizeof line, "%.2f", number);
    return line;
  }

  Driver& cuda() {
    if (cuda_ == nullptr) {
      auto loaded = driver::load_cuda_driver();
      if (!loaded) fail(loaded.error().message);
      cuda_ = std::move(loaded).value();
    }
    return *cuda_;
  }

  void open() {
    must(cuda().device_primary_ctx_retain(&context_, 0));
    must(cuda().ctx_set_current(context_));
    must(cuda().stream_create(&stream_, cu::kStreamNonBlocking));
  }

  double free_mib() {
    std::size_t free = 0;
    std::size_t total = 0;
    must(cuda().mem_get_info(&free, &total));
    return mib(free);
  }

  double nvml_free_mib() {
    if (nvml_ == nullptr) {
      auto loaded = driver::load_nvml();
      if (!loaded) fail(loaded.error().message);
      nvml_ = std::move(loaded).value();
    }
    nvml::Device device = nullptr;
    nvml::Memory memory{};
    if (nvml_->device_get_handle_by_index(0, &device) != nvml::kSuccess ||
        nvml_->device_get_memory_info(device, &memory) != nvml::kSuccess) {
      fail("NVML does not answer");
    }
    return mib(memory.free);
  }

  void take(Bytes bytes) {
    Piece piece{0, bytes, 0};
    must(cuda().mem_alloc(&piece.ptr, bytes));
    held_.push_back(piece);
  }

  void set_access(cu::DevicePtr va, Bytes bytes) {
    const cu::MemAccess access{{cu::kLocationDevice, 0}, cu::kAccessReadWrite};
    cu::Status status = cu::kNotReady;
    while (status == cu::kNotReady) status = cuda().mem_set_access(va, bytes, &access, 1);
    must(status);
  }

  Piece mapped(cu::DevicePtr va, Bytes bytes) {
    const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
    Piece piece{va, bytes, 0};
    must(cuda().mem_create(&piece.handle, bytes, &prop, 0));
    must(cuda().mem_map(va, bytes, 0, piece.handle, 0));
    set_access(va, bytes);
    return piece;
  }

  void map(Bytes bytes) {
    cu::DevicePtr va = 0;
    must(cuda().mem_address_reserve(&va, bytes, 0, 0, 0));
    held_.push_back(mapped(va, bytes));
  }

  void unmap(const Piece& piece) {
    must(cuda().mem_unmap(piece.ptr, piece.bytes));
    must(cuda().mem_release(piece.handle));
  }

  void grow(Bytes bytes) {
    for (; bytes > 0; bytes -= std::min(bytes, kPart)) {
      take(std::min(bytes, kPart));
      write(held_.back());
    }
    must(cuda().stream_synchronize(stream_));
  }

  void write(const Piece& piece) { must(cuda().memset_d8_async(piece.ptr, 1, piece.bytes, stream_)); }

  void give() {
    if (held_.empty()) fail("give: there is nothing");
    const Piece piece = held_.back();
    held_.pop_back();
    if (piece.handle == 0) return must(cuda().mem_free(piece.ptr));
    unmap(piece);
    must(cuda().mem_address_free(piece.ptr, piece.bytes));
  }

  double pass() {
    if (begin_ == nullptr) {
      must(cuda().event_create(&begin_, 0));
      must(cuda().event_create(&end_, 0));
    }
    Bytes bytes = 0;
    must(cuda().event_record(begin_, stream_));
    for (const Piece& piece : held_) {
      write(piece);
      bytes += piece.bytes;
    }
    must(cuda().event_record(end_, stream_));
    must(cuda().event_synchronize(end_));
    float milliseconds = 0;
    must(cuda().event_elapsed_time(&milliseconds, begin_, end_));
    return static_cast<double>(bytes) / 1e6 / static_cast<double>(milliseconds);
  }

  // Time on the card.
  void work(double microseconds) {
    if (kernels_.module == nullptr) kernels_ = driver::CheckKernels::load(cuda()).value();
    must(kernels_.launch_work(cuda(), 0, 0, static_cast<std::uint64_t>(microseconds * 1000), stream_));
  }

  // Physical memory for each page as it is needed, at the page's own place in its model's addresses. Under pressure,
  // and when a model is done, the newest pages are unmapped and released, after a synchronise; a model's addresses are
  // freed before the next model's are reserved. It believes cuMemGetInfo. Another thread of the process, as torch
  // would, submits all the while.
  void churn(std::istringstream& models) {
    work(1);
    take(2 * kMiB);
    const cu::DevicePtr scratch = held_.back().ptr;
    write(held_.back());
    must(cuda().stream_synchronize(stream_));
    std::atomic<bool> done{false};
    std::thread torch([&] {
      cu::Stream own = nullptr;
      bool fine = cuda().ctx_set_current(context_) == cu::kSuccess &&
                  cuda().stream_create(&own, cu::kStreamNonBlocking) == cu::kSuccess;
      while (fine && !done.load()) {
        fine = kernels_.launch_work(cuda(), scratch, 4, 1'000'000, own) == cu::kSuccess &&
               cuda().stream_synchronize(own) == cu::kSuccess;
      }
    });
    cu::Status outcome = cu::kSuccess;
    try {
      for (double size = 0; models >> size;) churn_model(round_up(granules(size), kPage));
    } catch (cu::Status status) {
      outcome = status;
    }
    done.store(true);
    torch.join();
    must(outcome);
  }

  void churn_model(Bytes size) {
    constexpr double kStaging = 2'800;  // microseconds: what a page takes at 12 GB/s
    cu::DevicePtr base = 0;
    must(cuda().mem_address_reserve(&base, size, 0, 0, 0));
    std::vector<Piece> pages;
    std::vector<bool> present(size / kPage);
    const auto release = [&](std::size_t count) {
      must(cuda().stream_synchronize(stream_));
      for (; count > 0; --count) {
        present[(pages.back().ptr - base) / kPage] = false;
        unmap(pages.back());
        pages.pop_back();
      }
    };
    for (Bytes page = 0; page < present.size(); ++page) {
      if (free_mib() < 512) release(std::min<std::size_t>(4, pages.size()));
      pages.push_back(mapped(base + page * kPage, kPage));
      present[page] = true;
      work(kStaging);
      write(pages.back());
    }
    release(pages.size());
    must(cuda().mem_address_free(base, size));
  }

  std::unique_ptr<Driver> cuda_;
  std::unique_ptr<driver::Nvml> nvml_;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  cu::Event begin_ = nullptr;
  cu::Event end_ = nullptr;
  driver::CheckKernels kernels_;
  std::vector<Piece> held_;
};

}  // namespace

int serve(const std::string& name, std::FILE* in, std::FILE* out) {
  Steps steps;
  char line[1024];
  while (std::fgets(line, sizeof line, in) != nullptr) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    std::string answer;
    try {
      answer = steps.carry_out(what, words);
    } catch (cu::Status status) {
      answer = "refused " + std::to_string(status);
    }
    std::fprintf(out, "%s\n", answer.empty() ? "" : (name + " " + what + " " + answer).c_str());
    std::fflush(out);
  }
  return 0;
}

}  // namespace tidegate::golden
