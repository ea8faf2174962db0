// The driver's face: what its libraries export, what cuGetProcAddress answers, and that other people's hooks work.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <link.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/driver/cuda_abi.h"
#include "tests/front/elf_file.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace tidegate {
namespace {

constexpr const char* kCuda = TIDEGATE_FRONT_DIR "/libcuda.so.1";
constexpr const char* kNvml = TIDEGATE_FRONT_DIR "/libnvidia-ml.so.1";
using cu::DevicePtr;

class Front : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("TIDEGATE_CARD", "rtx3050-6g-linux", 1);
    library_ = ::dlopen(kCuda, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
  }

  template <typename... Arguments>
  static int call(const char* name, Arguments... arguments) {
    using Function = int (*)(Arguments...);
    void* const found = ::dlsym(library_, name);
    EXPECT_NE(found, nullptr) << name;
    return found == nullptr ? -1 : reinterpret_cast<Function>(found)(arguments...);
  }
  struct Answer {
    int status = -1;
    void* function = nullptr;
    int result = -1;
    bool operator==(const Answer&) const = default;
  };
  static Answer ask(const char* name, int version, unsigned long long flags = 0) {
    Answer answer;
    answer.status = call("cuGetProcAddress_v2", name, &answer.function, version, flags, &answer.result);
    return answer;
  }
  static void* exported(const char* name) { return ::dlsym(library_, name); }
  static void start() {
    cu::Context context = nullptr;
    ASSERT_EQ(call("cuInit", 0u), 0);
    ASSERT_EQ(call("cuDevicePrimaryCtxRetain", &context, 0), 0);
    ASSERT_EQ(call("cuCtxSetCurrent", context), 0);
  }

  static void* library_;
};
void* Front::library_ = nullptr;

using Outcome = test::CommandOutcome;
using test::run_command;

// The variables of a world in this process: seed, time, and what is written when it ends.
TEST_F(Front, AWorldInVirtualTimeIsItsSeedsAlone) {
  const test::TempFolder folder;
  const auto run = [&](const std::string& variables) {
    return run_command("LD_LIBRARY_PATH='" TIDEGATE_FRONT_DIR
                       "' TIDEGATE_CARD=rtx3050-6g-wddm TIDEGATE_SIM_TIME=virtual " +
                       variables + " '" TIDEGATE_FRONT_PROGRAMS "/front_linked' 2>&1");
  };
  const auto trace_of = [&](const std::string& name) {
    const std::string path = folder.path(name);
    const Outcome outcome =
        run("TIDEGATE_SIM_SEED=3 TIDEGATE_SIM_TRACE=" + path + " TIDEGATE_SIM_HAZARDS=" + path + ".json");
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_THAT(test::read_file(path + ".json"), testing::HasSubstr("\"calls\""));
    return test::read_file(path);
  };
  const std::string first = trace_of("first");
  EXPECT_THAT(first, testing::HasSubstr("mem_alloc"));
  EXPECT_EQ(first, trace_of("second"));
  EXPECT_THAT(run("TIDEGATE_SIM_SEED=three").out, testing::HasSubstr("TIDEGATE_SIM_SEED=three: not a number"));
  EXPECT_THAT(run("TIDEGATE_SIM_TIME=fast").out, testing::HasSubstr("neither real nor virtual"));
}

TEST_F(Front, ServesAProgramWhicheverWayItBinds) {
  for (const char* program : {"front_linked", "front_dlopen", "front_proc_address"}) {
    const Outcome outcome = run_command("LD_LIBRARY_PATH='" TIDEGATE_FRONT_DIR "' TIDEGATE_CARD=rtx3050-6g-linux '" +
                                        std::string(TIDEGATE_FRONT_PROGRAMS "/") + program + "' 2>&1");
    EXPECT_EQ(outcome.code, 0) << program << ": " << outcome.out;
    EXPECT_EQ(outcome.out, "took 8 MiB of 5984, same 1\n") << program;
  }
}

TEST_F(Front, ShowsDeviceBytesAsHostMemory) {
  const Outcome outcome = run_command("LD_LIBRARY_PATH='" TIDEGATE_FRONT_DIR "' TIDEGATE_CARD=rtx3050-6g-linux '" +
                                      std::string(TIDEGATE_FRONT_PROGRAMS) + "/front_view' 2>&1");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "device bytes seen\n");
}

TEST_F(Front, ExportsTheDriversNamesAndNothingElse) {
  for (const auto& [path, soname, list] : {std::tuple(kCuda, "libcuda.so.1", "front/cuda_entry_points.txt"),
                                           std::tuple(kNvml, "libnvidia-ml.so.1", "front/nvml_entry_points.txt")}) {
    std::set<std::string> wanted = test::first_words(std::string(TIDEGATE_SOURCE_DIR "/") + list);
    if (path == kNvml) wanted.insert("nvmlErrorString");
    std::set<std::string> got;
    std::map<std::uint64_t, std::string> by_address;
    const test::ElfFile file(path);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file.soname(), soname);
    for (const test::ElfFile::Symbol& symbol : file.functions()) {
      got.insert(symbol.name);
      EXPECT_GE(symbol.size, 32u) << symbol.name;
      EXPECT_TRUE(by_address.emplace(symbol.address, symbol.name).second)
          << symbol.name << " is " << by_address[symbol.address];
    }
    EXPECT_EQ(got, wanted);
  }
}

TEST_F(Front, ChoosesAFunctionByVersionAndDefaultStream) {
  const auto found = [](const char* name) { return Answer{0, exported(name), 0}; };
  EXPECT_EQ(ask("cuMemAlloc", 12060), found("cuMemAlloc_v2"));
  EXPECT_EQ(ask("cuMemAlloc", 12060, 2), found("cuMemAlloc_v2"));  // has no flavours
  EXPECT_EQ(ask("cuMemcpyHtoDAsync", 12060), found("cuMemcpyHtoDAsync_v2"));
  EXPECT_EQ(ask("cuMemcpyHtoDAsync", 12060, 1), found("cuMemcpyHtoDAsync_v2"));
  EXPECT_EQ(ask("cuMemcpyHtoDAsync", 12060, 2), found("cuMemcpyHtoDAsync_v2_ptsz"));
  EXPECT_NE(exported("cuMemcpyHtoDAsync_v2"), exported("cuMemcpyHtoDAsync_v2_ptsz"));
  EXPECT_EQ(ask("cuMemcpyHtoD", 12060, 2), found("cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(ask("cuCtxCreate", 4000), found("cuCtxCreate_v2"));
  EXPECT_EQ(ask("cuCtxCreate", 11040), found("cuCtxCreate_v3"));
  EXPECT_EQ(ask("cuCtxCreate", 13000), found("cuCtxCreate_v4"));
  EXPECT_EQ(ask("cuGetProcAddress", 11030), found("cuGetProcAddress"));
  EXPECT_EQ(ask("cuGetProcAddress", 12000), found("cuGetProcAddress_v2"));
  EXPECT_EQ(ask("cuGraphLaunch", 12000), found("cuGraphLaunch"));  // not supported, but there
}

TEST_F(Front, SaysWhyAFunctionIsNotThere) {
  // As measured with driver 580: the second form succeeds and says why, the first fails and leaves the pointer.
  EXPECT_EQ(ask("cuMemAllocAsync", 11000), (Answer{0, nullptr, 2}));  // came with 11.2
  EXPECT_EQ(ask("cuMemAlloc", 1000), (Answer{0, nullptr, 2}));
  EXPECT_EQ(ask("cuNoSuchFunction", 12060), (Answer{0, nullptr, 1}));
  EXPECT_EQ(ask("cuMemAlloc_v2", 12060), (Answer{0, nullptr, 1}));        // names are asked for without their version
  EXPECT_EQ(ask("cuMemcpyHtoDAsync", 6000, 2), (Answer{0, nullptr, 2}));  // per-thread streams came with 7.0
  EXPECT_EQ(ask("cuMemcpyHtoDAsync", 12060, 4).status, 1);
  EXPECT_EQ(ask("cuInit", 99999).status, 1);
  void* function = library_;
  EXPECT_EQ(call("cuGetProcAddress", "cuNoSuchFunction", &function, 12060, 0ull), 500);
  EXPECT_EQ(function, library_);
  EXPECT_EQ(call("cuGetProcAddress", "cuInit", &function, 12060, 0ull), 0);
  EXPECT_EQ(function, exported("cuInit"));
  EXPECT_EQ(call("cuGetProcAddress", "cuInit", static_cast<void**>(nullptr), 12060, 0ull), 1);
  EXPECT_EQ(call("cuGetProcAddress", static_cast<const char*>(nullptr), &function, 12060, 0ull), 1);
}

TEST_F(Front, GivesNamesThatOnlyTheRealLibraryKnowsAFunctionEach) {
  // Any library will do as the "real" one: this test's own exported function stands for a newer driver's.
  const std::string command =
      std::string("TIDEGATE_REAL_CUDA='" TIDEGATE_FRONT_PROGRAMS "/libnewer.so' LD_LIBRARY_PATH='") + TIDEGATE_FRONT_DIR
      "' TIDEGATE_FRONT_REPORT='%s' '" TIDEGATE_FRONT_PROGRAMS "/front_newer' 2>&1";
  const test::TempFolder folder;
  std::string filled = command;
  filled.replace(filled.find("%s"), 2, folder.path("report.json"));
  const Outcome outcome = run_command(filled);
  EXPECT_EQ(outcome.out, "801 801\n");
  const auto report = nlohmann::json::parse(test::read_file(folder.path("report.json")));
  EXPECT_EQ(report["not_supported"]["cuFromTheFuture"], 2);
  EXPECT_EQ(report["not_supported"]["cuFromLater"], 1);
}

TEST_F(Front, UsesEachThreadsOwnStreamWhereAsked) {
  start();
  DevicePtr at = 0;
  ASSERT_EQ(call("cuMemAlloc_v2", &at, std::size_t{1} << 20), 0);
  const std::string text = "bytes on a thread's own stream";
  std::string back(text.size(), '-');
  std::thread([&] {
    cu::Context context = nullptr;
    EXPECT_EQ(call("cuDevicePrimaryCtxRetain", &context, 0), 0);
    EXPECT_EQ(call("cuCtxSetCurrent", context), 0);
    EXPECT_EQ(call("cuMemcpyHtoDAsync_v2_ptsz", at, text.data(), text.size(), cu::Stream{}), 0);
    EXPECT_EQ(call("cuStreamSynchronize_ptsz", cu::Stream{}), 0);
    EXPECT_EQ(call("cuDevicePrimaryCtxRelease_v2", 0), 0);
  }).join();
  EXPECT_EQ(call("cuMemcpyDtoH_v2_ptds", back.data(), at, back.size()), 0);
  EXPECT_EQ(back, text);
  EXPECT_EQ(call("cuMemsetD32_v2", at, 0x01020304u, std::size_t{8}), 0);
  unsigned words[8] = {};
  EXPECT_EQ(call("cuMemcpyDtoH_v2", words, at, sizeof words), 0);
  EXPECT_THAT(words, testing::Each(0x01020304u));
  unsigned type = 0;
  EXPECT_EQ(call("cuPointerGetAttribute", &type, 2, at), 0);
  EXPECT_EQ(type, 2u);
  EXPECT_EQ(call("cuPointerGetAttribute", &type, 2, reinterpret_cast<DevicePtr>(&type)), 1);
  EXPECT_EQ(call("cuMemFree_v2", at), 0);
}

// --- Other people's hooks: a jump over the entry, without a trampoline. ---

int hook_calls = 0;
extern "C" int hooked(void*, void*, void*) {
  ++hook_calls;
  return 4242;
}

class Patch {
 public:
  Patch(void* function, void* target) : at_(static_cast<unsigned char*>(function)) {
    unsigned char jump[kJump] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip), then the address
    std::memcpy(jump + 6, &target, sizeof target);
    std::memcpy(before_, at_, kJump);
    write(jump);
  }
  Patch(const Patch&) = delete;
  Patch& operator=(const Patch&) = delete;
  ~Patch() { write(before_); }

 private:
  static constexpr std::size_t kJump = 14;
  void write(const unsigned char* bytes) {
    const auto page = reinterpret_cast<std::uintptr_t>(at_) & ~std::uintptr_t{4095};
    ASSERT_EQ(::mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    std::memcpy(at_, bytes, kJump);
    __builtin___clear_cache(reinterpret_cast<char*>(at_), reinterpret_cast<char*>(at_) + kJump);
    ASSERT_EQ(::mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_EXEC), 0);
  }
  unsigned char* at_;
  unsigned char before_[kJump];
};

TEST_F(Front, LetsHooksInOncePerCallAndNowhereElse) {
  start();
  const std::array names = {"cuMemAlloc_v2",        "cuMemFree_v2",   "cuMemAllocAsync",
                            "cuMemAllocAsync_ptsz", "cuMemFreeAsync", "cuMemFreeAsync_ptsz"};
  for (const char* name : names) {
    const Patch patch(exported(name), reinterpret_cast<void*>(&hooked));
    hook_calls = 0;
    EXPECT_EQ(call(name, static_cast<void*>(nullptr), static_cast<void*>(nullptr), static_cast<void*>(nullptr)), 4242);
    EXPECT_EQ(hook_calls, 1) << name;
    // What the front does for other functions never comes by an exported one.
    DevicePtr at = 0;
    std::size_t pitch = 0;
    EXPECT_EQ(call("cuMemAllocPitch_v2", &at, &pitch, std::size_t{100}, std::size_t{10}, 4u), 0);
    EXPECT_EQ(hook_calls, 1) << name;
    if (std::string(name) != "cuMemFree_v2") {
      EXPECT_EQ(call("cuMemFree_v2", at), 0);
    }
  }
  hook_calls = 0;
  DevicePtr at = 0;
  EXPECT_EQ(call("cuMemAlloc_v2", &at, std::size_t{4096}), 0) << "a patch was left behind";
  EXPECT_EQ(call("cuMemFree_v2", at), 0);
  EXPECT_EQ(hook_calls, 0);
}

TEST_F(Front, AForkedChildOfAProgramThatUsedItIsNotInitialised) {
  start();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int count = 0;
    DevicePtr at = 0;
    cu::Context context = nullptr;
    int version = 0;
    const char* text = nullptr;
    const bool refused = call("cuInit", 0u) == 3 && call("cuDeviceGetCount", &count) == 3 &&
                         call("cuMemAlloc_v2", &at, std::size_t{4096}) == 3 && call("cuCtxGetCurrent", &context) == 3;
    const bool answered = call("cuDriverGetVersion", &version) == 0 && version >= 12000 &&
                          call("cuGetErrorName", 2, &text) == 0 && std::string(text) == "CUDA_ERROR_OUT_OF_MEMORY";
    const bool counted = call("cuGraphLaunch", nullptr, nullptr) == 801;  // nor does counting hang
    ::_exit(refused && answered && counted ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  int count = 0;
  EXPECT_EQ(call("cuDeviceGetCount", &count), 0) << "the parent goes on";
}

TEST_F(Front, SaysOneLineWhereACardIsUnknown) {
  const Outcome outcome = run_command("LD_LIBRARY_PATH='" TIDEGATE_FRONT_DIR
                                      "' TIDEGATE_CARD=no-such-card '" TIDEGATE_FRONT_PROGRAMS "/front_linked' 2>&1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, testing::HasSubstr("tidegate: no simulated card: "));
  EXPECT_THAT(outcome.out, testing::HasSubstr("cuInit: 100\n"));
  const Outcome asked =
      run_command("LD_LIBRARY_PATH='" TIDEGATE_FRONT_DIR "' TIDEGATE_CARD=no-such-card '" TIDEGATE_FRONT_PROGRAMS
                  "/front_proc_address' 2>&1");
  EXPECT_THAT(asked.out, testing::HasSubstr("cuInit: 100\n")) << "found, and says why";
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
}

}  // namespace
}  // namespace tidegate
