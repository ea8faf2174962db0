// A client of the broker that TIDEGATE_BROKER names, for tests/broker. The first argument says what it does; what it
// finds goes to stdout, and it ends with 0 if that is as it should be.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/remote/connect.h"
#include "src/base/checksum.h"
#include "tidegate/bytes.h"

namespace {

using tidegate::Bytes;
using tidegate::kMiB;
namespace cu = tidegate::cu;
namespace nvml = tidegate::nvml;
using tidegate::base::Random;

[[noreturn]] void fail(const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void must(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

std::unique_ptr<tidegate::sim::Backend> connect() {
  const char* name = std::getenv("TIDEGATE_BROKER");
  must(name != nullptr, "no TIDEGATE_BROKER");
  auto made = tidegate::sim::connect_backend(name);
  must(made.ok(), made ? "" : made.error().message);
  return std::move(made).value();
}

// The card with a context current on this thread.
struct Card {
  std::unique_ptr<tidegate::sim::Backend> backend = connect();
  tidegate::driver::Driver& cuda = backend->driver();
  cu::Context context = nullptr;

  Card() {
    must(cuda.init(0) == cu::kSuccess, "init");
    must(cuda.device_primary_ctx_retain(&context, 0) == cu::kSuccess, "retain");
    must(cuda.ctx_set_current(context) == cu::kSuccess, "set current");
  }
  Bytes free() {
    std::size_t free = 0;
    std::size_t total = 0;
    must(cuda.mem_get_info(&free, &total) == cu::kSuccess, "mem_get_info");
    return free;
  }
};

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { must(::pipe2(ends, O_CLOEXEC) == 0, "pipe"); }
  void tell() const { must(::write(ends[1], "x", 1) == 1, "pipe write"); }
  void hear() const {
    char byte = 0;
    must(::read(ends[0], &byte, 1) == 1, "pipe read");
  }
};

int status_of(pid_t child) {
  int status = 0;
  must(::waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Rule L-1: what one process allocates, another sees as gone, to the MiB; and NVML names it by its pid.
int share() {
  constexpr Bytes kHeld = 778 * kMiB;  // of whole 2 MiB, as the card hands it out
  Pipe to_child;
  Pipe to_parent;
  const pid_t child = ::fork();
  if (child == 0) {
    must(::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl");
    Card card;
    to_parent.tell();
    to_child.hear();
    cu::DevicePtr at = 0;
    must(card.cuda.mem_alloc(&at, kHeld) == cu::kSuccess, "child's allocation");
    to_parent.tell();
    to_child.hear();
    std::_Exit(0);  // as a program that frees nothing
  }
  to_parent.hear();
  Card card;
  const Bytes before = card.free();
  to_child.tell();
  to_parent.hear();
  const Bytes after = card.free();
  must(before - after == kHeld,
       "the other's " + std::to_string(kHeld) + " bytes look like " + std::to_string(before - after));

  auto& nvml = card.backend->nvml();
  must(nvml.init() == nvml::kSuccess, "nvmlInit");
  nvml::Device device = nullptr;
  must(nvml.device_get_handle_by_index(0, &device) == nvml::kSuccess, "nvml handle");
  unsigned count = 8;
  nvml::ProcessInfo infos[8];
  must(nvml.device_get_compute_running_processes_v3(device, &count, infos) == nvml::kSuccess, "nvml processes");
  must(count == 2, "nvml sees " + std::to_string(count) + " processes");
  bool found = false;
  for (unsigned i = 0; i < count; ++i) {
    found = found || (infos[i].pid == static_cast<unsigned>(child) && infos[i].used_gpu_memory >= kHeld);
  }
  must(found, "nvml does not show the child under its pid");

  to_child.tell();
  must(status_of(child) == 0, "the child failed");
  const Bytes back = card.free();
  must(back > before, "the child's context is not given back");
  std::printf("held %llu MiB\n", static_cast<unsigned long long>((before - after) / kMiB));
  return 0;
}

// What a forked child is answered, before and after its parent's cuInit.
int forks() {
  auto backend = connect();
  const pid_t first = ::fork();
  if (first == 0) {
    int count = 0;
    std::_Exit(backend->driver().init(0) == cu::kSuccess &&
                       backend->driver().device_get_count(&count) == cu::kSuccess && count == 1
                   ? 0
                   : 1);
  }
  must(status_of(first) == 0, "a child forked before cuInit cannot use the card");
  must(backend->driver().init(0) == cu::kSuccess, "init");
  const pid_t second = ::fork();
  if (second == 0) {
    int count = 0;
    std::_Exit(backend->driver().device_get_count(&count) == cu::kNotInitialized &&
                       backend->driver().init(0) == cu::kNotInitialized
                   ? 0
                   : 1);
  }
  must(status_of(second) == 0, "a child forked after cuInit is not refused");
  int count = 0;
  must(backend->driver().device_get_count(&count) == cu::kSuccess && count == 1, "the parent is harmed by a fork");
  std::printf("as a real driver\n");
  return 0;
}

// One round of checked work: bytes to the card, about on it, and back.
void round_trip(Card& card, cu::Stream stream, Random& random) {
  const Bytes bytes = 256 + random.below(2 * kMiB);
  std::vector<unsigned char> out(bytes);
  std::vector<unsigned char> back(bytes);
  for (Bytes i = 0; i < bytes; i += 61) out[i] = static_cast<unsigned char>(random.next());
  cu::DevicePtr a = 0;
  cu::DevicePtr b = 0;
  must(card.cuda.mem_alloc(&a, bytes) == cu::kSuccess && card.cuda.mem_alloc(&b, bytes) == cu::kSuccess, "mem_alloc");
  must(card.cuda.memcpy_htod_async(a, out.data(), bytes, stream) == cu::kSuccess, "htod");
  must(card.cuda.memcpy_dtod_async(b, a, bytes, stream) == cu::kSuccess, "dtod");
  must(card.cuda.memcpy_dtoh_async(back.data(), b, bytes, stream) == cu::kSuccess, "dtoh");
  must(card.cuda.stream_synchronize(stream) == cu::kSuccess, "synchronize");
  must(out == back, "bytes came back changed");
  must(card.cuda.mem_free(a) == cu::kSuccess && card.cuda.mem_free(b) == cu::kSuccess, "mem_free");
}

// Work whose order and hazards depend on how processes and threads interleave: never-written bytes are read, and two
// threads fill the same bytes on streams of their own without an order.
int work(std::uint64_t seed) {
  Random random(seed);
  Card card;
  cu::DevicePtr shared = 0;
  must(card.cuda.mem_alloc(&shared, kMiB) == cu::kSuccess, "shared memory");
  const auto body = [&card, shared](std::uint64_t own_seed) {
    Random own(own_seed);
    must(card.cuda.ctx_set_current(card.context) == cu::kSuccess, "set current");
    cu::Stream stream = nullptr;
    must(card.cuda.stream_create(&stream, cu::kStreamNonBlocking) == cu::kSuccess, "stream");
    for (int i = 0; i < 12; ++i) {
      round_trip(card, stream, own);
      must(card.cuda.memset_d8_async(shared, 1, own.below(kMiB), stream) == cu::kSuccess, "memset");
      if (own.below(2) == 0) must(card.cuda.stream_synchronize(stream) == cu::kSuccess, "synchronize");
      cu::DevicePtr fresh = 0;
      unsigned char bytes[64];
      must(card.cuda.mem_alloc(&fresh, kMiB) == cu::kSuccess, "mem_alloc");
      must(card.cuda.memcpy_dtoh_async(bytes, fresh, sizeof bytes, stream) == cu::kSuccess, "dtoh");
      must(card.cuda.mem_free(fresh) == cu::kSuccess, "mem_free");
      (void)card.free();
    }
  };
  std::thread other(body, random.next());
  body(random.next());
  other.join();
  return 0;
}

int victim(std::uint64_t seed) {
  Random random(seed);
  Card card;
  cu::Stream stream = nullptr;
  must(card.cuda.stream_create(&stream, cu::kStreamNonBlocking) == cu::kSuccess, "stream");
  const auto endless = [&] {
    must(card.cuda.ctx_set_current(card.context) == cu::kSuccess, "set current");
    for (;;) {
      Random own(seed);
      round_trip(card, stream, own);
      void* pinned = nullptr;
      must(card.cuda.mem_host_alloc(&pinned, kMiB, 0) == cu::kSuccess, "pinned");
      must(card.cuda.mem_free_host(pinned) == cu::kSuccess, "pinned free");
    }
  };
  std::thread other;
  if (random.below(2) == 0) other = std::thread(endless);
  endless();
  return 0;
}

std::size_t entries(const std::string& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

Bytes resident(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  Bytes size = 0;
  Bytes pages = 0;
  file >> size >> pages;
  return pages * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
}

pid_t start_self(const char* what, std::uint64_t seed) {
  const std::string number = std::to_string(seed);
  const pid_t child = ::fork();
  if (child != 0) return child;
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execl("/proc/self/exe", "broker_client", what, number.c_str(), nullptr);
  std::_Exit(127);
}

// Kills `times` clients at random moments; the broker is this process's parent.
int kill_clients(int times, std::uint64_t seed) {
  Random random(seed);
  Card card;
  cu::Stream stream = nullptr;
  must(card.cuda.stream_create(&stream, cu::kStreamNonBlocking) == cu::kSuccess, "stream");
  const std::string broker = "/proc/" + std::to_string(::getppid());
  std::size_t files = 0;
  std::size_t threads = 0;
  Bytes memory = 0;
  const Bytes free = card.free();
  constexpr int kWarmUp = 20;
  for (int i = 0; i < times; ++i) {
    if (i == std::min(kWarmUp, times - 1)) {
      files = entries(broker + "/fd");
      threads = entries(broker + "/task");
      memory = resident(::getppid());
    }
    const pid_t child = start_self("victim", random.next());
    // From before it has connected to deep in its work.
    ::usleep(static_cast<useconds_t>(random.below(random.below(2) == 0 ? 4'000 : 20'000)));
    must(::kill(child, SIGKILL) == 0, "kill");
    must(status_of(child) == 128 + SIGKILL, "a client ended by itself, in round " + std::to_string(i));
    round_trip(card, stream, random);
    must(card.free() == free, "bytes are missing after round " + std::to_string(i));
  }
  const auto same = [](const char* what, std::size_t before, std::size_t after) {
    must(before == after, "the broker's " + std::string(what) + ": " + std::to_string(before) + " before, " +
                              std::to_string(after) + " after");
  };
  same("descriptors", files, entries(broker + "/fd"));
  same("threads", threads, entries(broker + "/task"));
  constexpr Bytes kSlack = 16 * kMiB;
  const Bytes grown = std::max(resident(::getppid()), memory) - memory;
  must(grown <= kSlack, "the broker grew by " + std::to_string(grown / kMiB) + " MiB");
  std::printf("killed %d, grown by %llu KiB\n", times, static_cast<unsigned long long>(grown / 1024));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (what == "share") return share();
  if (what == "forks") return forks();
  if (what == "work") return work(number);
  if (what == "victim") return victim(number);
  if (what == "kill") return kill_clients(static_cast<int>(number), argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  if (what == "exit") return static_cast<int>(number);
  std::printf("what?\n");
  return 2;
}
