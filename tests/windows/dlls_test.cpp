// nvcuda.dll, nvml.dll and dxgi.dll as a program under Windows finds them: one machine behind the three of them.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include <dxgi1_6.h>
#include <gtest/gtest.h>
#include <windows.h>

#include "front/dxcore_abi.h"
#include "src/driver/cuda_abi.h"
#include "src/driver/nvml_abi.h"
#include "src/driver/windows_abi.h"
#include "tidegate/bytes.h"

namespace tidegate {
namespace {

HMODULE load(const char* name) {
  const std::string path = std::string(TIDEGATE_FRONT_DIR) + "/" + name;
  return ::LoadLibraryA(std::filesystem::path(path).make_preferred().string().c_str());
}

template <typename Function>
Function* entry(HMODULE library, const char* name) {
  void* found = reinterpret_cast<void*>(::GetProcAddress(library, name));
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

class Dlls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::SetEnvironmentVariableA("TIDEGATE_CARD", "rtx3050-6g-wddm");
    _putenv_s("TIDEGATE_CARD", "rtx3050-6g-wddm");
    // NVML first: it must find the machine by itself.
    nvml_ = load("nvml.dll");
    cuda_ = load("nvcuda.dll");
    dxgi_ = load("dxgi.dll");
    dxcore_ = load("dxcore.dll");
  }
  void SetUp() override {
    ASSERT_NE(nvml_, nullptr) << "Windows error " << ::GetLastError();
    ASSERT_NE(cuda_, nullptr) << "Windows error " << ::GetLastError();
    ASSERT_NE(dxgi_, nullptr) << "Windows error " << ::GetLastError();
    ASSERT_NE(dxcore_, nullptr) << "Windows error " << ::GetLastError();
    ASSERT_EQ(cuda<cu::Status(unsigned)>("cuInit")(0), cu::kSuccess);
    ASSERT_EQ(cuda<cu::Status(cu::Context*, cu::Device)>("cuDevicePrimaryCtxRetain")(&context_, 0), cu::kSuccess);
    ASSERT_EQ(cuda<cu::Status(cu::Context)>("cuCtxSetCurrent")(context_), cu::kSuccess);
  }
  void TearDown() override { cuda<cu::Status(cu::Device)>("cuDevicePrimaryCtxRelease_v2")(0); }

  template <typename Function>
  static Function* cuda(const char* name) {
    return entry<Function>(cuda_, name);
  }
  template <typename Function>
  static Function* nvml(const char* name) {
    return entry<Function>(nvml_, name);
  }

  static std::size_t cuda_free() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cuda<cu::Status(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(&free, &total), cu::kSuccess);
    return free;
  }

  static inline HMODULE cuda_ = nullptr;
  static inline HMODULE nvml_ = nullptr;
  static inline HMODULE dxgi_ = nullptr;
  static inline HMODULE dxcore_ = nullptr;
  cu::Context context_ = nullptr;
};

// Finds the adapter with CUDA's LUID, as a program does.
IDXGIAdapter3* adapter_of(HMODULE dxgi, const LUID& luid) {
  IDXGIFactory4* factory = nullptr;
  auto* create = entry<HRESULT(REFIID, void**)>(dxgi, "CreateDXGIFactory1");
  EXPECT_EQ(create(__uuidof(IDXGIFactory4), reinterpret_cast<void**>(&factory)), S_OK);
  IDXGIAdapter1* adapter = nullptr;
  IDXGIAdapter3* found = nullptr;
  for (UINT i = 0; factory->EnumAdapters1(i, &adapter) == S_OK; ++i) {
    DXGI_ADAPTER_DESC1 desc{};
    EXPECT_EQ(adapter->GetDesc1(&desc), S_OK);
    if (std::memcmp(&desc.AdapterLuid, &luid, sizeof luid) == 0) {
      EXPECT_EQ(adapter->QueryInterface(__uuidof(IDXGIAdapter3), reinterpret_cast<void**>(&found)), S_OK);
    }
    adapter->Release();
  }
  factory->Release();
  return found;
}

TEST_F(Dlls, CudaDxgiAndNvmlTellOfOneMachine) {
  LUID luid{};
  unsigned nodes = 0;
  ASSERT_EQ(
      (cuda<cu::Status(char*, unsigned*, cu::Device)>("cuDeviceGetLuid")(reinterpret_cast<char*>(&luid), &nodes, 0)),
      cu::kSuccess);
  EXPECT_EQ(nodes, 1u);
  IDXGIAdapter3* adapter = adapter_of(dxgi_, luid);
  ASSERT_NE(adapter, nullptr);

  ASSERT_EQ(nvml<nvml::Status()>("nvmlInit_v2")(), nvml::kSuccess);
  nvml::Device device = nullptr;
  ASSERT_EQ((nvml<nvml::Status(unsigned, nvml::Device*)>("nvmlDeviceGetHandleByIndex_v2")(0, &device)), nvml::kSuccess);
  const auto nvml_free = [&] {
    nvml::Memory memory{};
    EXPECT_EQ((nvml<nvml::Status(nvml::Device, nvml::Memory*)>("nvmlDeviceGetMemoryInfo")(device, &memory)),
              nvml::kSuccess);
    return memory.free;
  };
  const auto info = [&] {
    DXGI_QUERY_VIDEO_MEMORY_INFO answer{};
    EXPECT_EQ(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &answer), S_OK);
    return answer;
  };

  const DXGI_QUERY_VIDEO_MEMORY_INFO before = info();
  EXPECT_EQ(cuda_free(), before.Budget - before.CurrentUsage);
  const Bytes device_before = nvml_free();

  constexpr Bytes kAmount = 512 * kMiB;
  cu::DevicePtr memory = 0;
  ASSERT_EQ((cuda<cu::Status(cu::DevicePtr*, std::size_t)>("cuMemAlloc_v2")(&memory, kAmount)), cu::kSuccess);
  ASSERT_EQ((cuda<cu::Status(cu::DevicePtr, unsigned char, std::size_t)>("cuMemsetD8_v2")(memory, 1, kAmount)),
            cu::kSuccess);
  ASSERT_EQ(cuda<cu::Status()>("cuCtxSynchronize")(), cu::kSuccess);
  EXPECT_EQ(info().CurrentUsage - before.CurrentUsage, kAmount);
  EXPECT_EQ(cuda_free(), info().Budget - info().CurrentUsage);
  EXPECT_EQ(device_before - nvml_free(), kAmount);

  // The kernel's statistics, under our own name: gdi32 cannot be replaced.
  sim::win::QueryStatistics query{};
  query.type = sim::win::StatisticsType::kProcessSegmentGroup;
  std::memcpy(&query.adapter_luid, &luid, sizeof luid);
  ASSERT_EQ(cuda<std::int32_t(void*)>("tidegate_sim_query_statistics")(&query), 0);
  sim::win::ProcessSegmentGroupInformation group{};
  std::memcpy(&group, query.result, sizeof group);
  EXPECT_EQ(group.budget, info().Budget);
  EXPECT_EQ(group.usage, info().CurrentUsage);

  EXPECT_EQ(cuda<cu::Status(cu::DevicePtr)>("cuMemFree_v2")(memory), cu::kSuccess);
  adapter->Release();
}

TEST_F(Dlls, DxCoreAnswersAsDxgiDoes) {
  namespace dx = front::dxcore;
  LUID luid{};
  unsigned nodes = 0;
  ASSERT_EQ(
      (cuda<cu::Status(char*, unsigned*, cu::Device)>("cuDeviceGetLuid")(reinterpret_cast<char*>(&luid), &nodes, 0)),
      cu::kSuccess);
  dx::AdapterFactory* factory = nullptr;
  ASSERT_EQ((entry<HRESULT(REFIID, void**)>(dxcore_, "DXCoreCreateAdapterFactory")(dx::kAdapterFactoryId,
                                                                                   reinterpret_cast<void**>(&factory))),
            S_OK);
  dx::AdapterList* list = nullptr;
  ASSERT_EQ(factory->CreateAdapterList(0, nullptr, dx::kAdapterListId, reinterpret_cast<void**>(&list)), S_OK);
  EXPECT_EQ(list->GetAdapterCount(), 1u);
  dx::Adapter* core = nullptr;
  EXPECT_NE(list->GetAdapter(1, dx::kAdapterId, reinterpret_cast<void**>(&core)), S_OK);
  ASSERT_EQ(factory->GetAdapterByLuid(luid, dx::kAdapterId, reinterpret_cast<void**>(&core)), S_OK);
  char name[64] = {};
  EXPECT_EQ(core->GetProperty(dx::Property::kDriverDescription, sizeof name, name), S_OK);
  EXPECT_STREQ(name, "NVIDIA GeForce RTX 3050");

  const dx::NodeSegmentGroup which{0, 0};
  DXGI_QUERY_VIDEO_MEMORY_INFO from_core{};
  DXGI_QUERY_VIDEO_MEMORY_INFO from_dxgi{};
  IDXGIAdapter3* adapter = adapter_of(dxgi_, luid);
  EXPECT_EQ(adapter->SetVideoMemoryReservation(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, 64 * kMiB), S_OK);
  EXPECT_EQ(core->QueryState(dx::State::kAdapterMemoryBudget, sizeof which, &which, sizeof from_core, &from_core),
            S_OK);
  EXPECT_EQ(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &from_dxgi), S_OK);
  EXPECT_EQ(from_core.CurrentReservation, 64 * kMiB);
  EXPECT_EQ(std::memcmp(&from_core, &from_dxgi, sizeof from_core), 0);
  adapter->Release();
  core->Release();
  list->Release();
  factory->Release();
}

// As Detours and its like do: a jump over the function's first bytes, which leads to the hook.
void patch(void* function, void* hook) {
  unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};  // jmp [rip]
  std::memcpy(jump + 6, &hook, sizeof hook);
  DWORD before = 0;
  ASSERT_NE(::VirtualProtect(function, sizeof jump, PAGE_EXECUTE_READWRITE, &before), 0);
  std::memcpy(function, jump, sizeof jump);
  ::VirtualProtect(function, sizeof jump, before, &before);
  ::FlushInstructionCache(::GetCurrentProcess(), function, sizeof jump);
}

int hook_calls = 0;
cu::Status hook(cu::DevicePtr* ptr, std::size_t bytes) {
  ++hook_calls;
  *ptr = bytes;
  return cu::kOutOfMemory;
}

TEST_F(Dlls, AJumpOverAFunctionIsSeen) {
  void* const function = reinterpret_cast<void*>(::GetProcAddress(cuda_, "cuMemAllocManaged"));
  ASSERT_NE(function, nullptr);
  unsigned char before[32];
  std::memcpy(before, function, sizeof before);
  patch(function, reinterpret_cast<void*>(&hook));
  cu::DevicePtr ptr = 0;
  EXPECT_EQ((cuda<cu::Status(cu::DevicePtr*, std::size_t)>("cuMemAllocManaged")(&ptr, 42)), cu::kOutOfMemory);
  EXPECT_EQ(ptr, 42u);
  EXPECT_EQ(hook_calls, 1);
  // What the front calls itself does not pass through exported names.
  void* other = reinterpret_cast<void*>(::GetProcAddress(cuda_, "cuMemAlloc_v2"));
  patch(other, reinterpret_cast<void*>(&hook));
  std::size_t pitch = 0;
  EXPECT_EQ((cuda<cu::Status(cu::DevicePtr*, std::size_t*, std::size_t, std::size_t, unsigned)>("cuMemAllocPitch_v2")(
                &ptr, &pitch, 100, 100, 4)),
            cu::kSuccess);
  EXPECT_EQ(hook_calls, 1);
}

// Each export is a function of its own with room for a jump.
TEST_F(Dlls, EveryExportIsItsOwnAndLongEnough) {
  const auto* base = reinterpret_cast<const unsigned char*>(cuda_);
  const auto* dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(base);
  const auto* nt = reinterpret_cast<const IMAGE_NT_HEADERS64*>(base + dos->e_lfanew);
  const DWORD at = nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT].VirtualAddress;
  const auto* directory = reinterpret_cast<const IMAGE_EXPORT_DIRECTORY*>(base + at);
  const auto* functions = reinterpret_cast<const DWORD*>(base + directory->AddressOfFunctions);
  const auto* names = reinterpret_cast<const DWORD*>(base + directory->AddressOfNames);
  const auto* ordinals = reinterpret_cast<const WORD*>(base + directory->AddressOfNameOrdinals);
  std::map<DWORD, std::string> starts;
  for (DWORD i = 0; i < directory->NumberOfNames; ++i) {
    const std::string name = reinterpret_cast<const char*>(base + names[i]);
    if (!name.starts_with("cu") && !name.starts_with("nvml")) continue;
    const auto [known, is_new] = starts.emplace(functions[ordinals[i]], name);
    EXPECT_TRUE(is_new) << name << " and " << known->second << " are one function";
  }
  EXPECT_GT(starts.size(), 900u);
  for (auto next = starts.begin(), start = next++; next != starts.end(); start = next++) {
    EXPECT_GE(next->first - start->first, 32u) << start->second;
  }
}

}  // namespace
}  // namespace tidegate
