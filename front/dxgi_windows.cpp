// DXGI as far as a program needs it that reads video memory budgets: a factory, its adapters, QueryVideoMemoryInfo.
//
// One adapter per card that behaves as under Windows; nothing can be drawn or shown, and what would need that answers
// DXGI_ERROR_UNSUPPORTED. Other interfaces are refused (E_NOINTERFACE). Objects are counted and thread-safe.
#include <new>

#include <dxgi1_6.h>

#include "front/com_object.h"
#include "front/front.h"
#include "sim/backend.h"

namespace tidegate::front {
namespace {

constexpr UINT kNvidia = 0x10DE;
constexpr HRESULT kNothingToShow = DXGI_ERROR_UNSUPPORTED;

// The methods that every object of DXGI has.
template <typename Interface>
class Object : public ComObject<Interface> {
 public:
  HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID, UINT, const void*) final { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, const IUnknown*) final { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID, UINT*, void*) final { return DXGI_ERROR_NOT_FOUND; }
};

class Adapter final : public Object<IDXGIAdapter4> {
 public:
  Adapter(IDXGIFactory* factory, int card, const sim::win::AdapterDescription& description)
      : factory_(factory), card_(card), description_(description) {
    factory_->AddRef();
  }
  HRESULT STDMETHODCALLTYPE GetParent(REFIID id, void** parent) override {
    return factory_->QueryInterface(id, parent);
  }
  HRESULT STDMETHODCALLTYPE EnumOutputs(UINT, IDXGIOutput**) override { return DXGI_ERROR_NOT_FOUND; }
  HRESULT STDMETHODCALLTYPE CheckInterfaceSupport(REFGUID, LARGE_INTEGER*) override { return kNothingToShow; }
  HRESULT STDMETHODCALLTYPE GetDesc(DXGI_ADAPTER_DESC* desc) override { return describe(desc); }
  HRESULT STDMETHODCALLTYPE GetDesc1(DXGI_ADAPTER_DESC1* desc) override { return describe(desc); }
  HRESULT STDMETHODCALLTYPE GetDesc2(DXGI_ADAPTER_DESC2* desc) override { return describe(desc); }
  HRESULT STDMETHODCALLTYPE GetDesc3(DXGI_ADAPTER_DESC3* desc) override { return describe(desc); }

  HRESULT STDMETHODCALLTYPE QueryVideoMemoryInfo(UINT node, DXGI_MEMORY_SEGMENT_GROUP group,
                                                 DXGI_QUERY_VIDEO_MEMORY_INFO* info) override {
    sim::win::QueryVideoMemoryInfo answer{};
    const HRESULT result = backend()->query_video_memory_info(card_, node, static_cast<sim::win::SegmentGroup>(group),
                                                              info == nullptr ? nullptr : &answer);
    if (result == S_OK) {
      *info = {answer.budget, answer.current_usage, answer.available_for_reservation, answer.current_reservation};
    }
    return result;
  }
  HRESULT STDMETHODCALLTYPE SetVideoMemoryReservation(UINT node, DXGI_MEMORY_SEGMENT_GROUP group,
                                                      UINT64 bytes) override {
    return backend()->set_video_memory_reservation(card_, node, static_cast<sim::win::SegmentGroup>(group), bytes);
  }
  HRESULT STDMETHODCALLTYPE RegisterVideoMemoryBudgetChangeNotificationEvent(HANDLE, DWORD*) override {
    return E_NOTIMPL;
  }
  void STDMETHODCALLTYPE UnregisterVideoMemoryBudgetChangeNotification(DWORD) override {}
  HRESULT STDMETHODCALLTYPE RegisterHardwareContentProtectionTeardownStatusEvent(HANDLE, DWORD*) override {
    return kNothingToShow;
  }
  void STDMETHODCALLTYPE UnregisterHardwareContentProtectionTeardownStatus(DWORD) override {}

 private:
  ~Adapter() override { factory_->Release(); }
  bool is(REFIID id) const override {
    return id == __uuidof(IDXGIObject) || id == __uuidof(IDXGIAdapter) || id == __uuidof(IDXGIAdapter1) ||
           id == __uuidof(IDXGIAdapter2) || id == __uuidof(IDXGIAdapter3) || id == __uuidof(IDXGIAdapter4);
  }
  template <typename Desc>
  HRESULT describe(Desc* desc) const {
    if (desc == nullptr) return E_INVALIDARG;
    *desc = {};
    constexpr std::size_t kRoom = sizeof desc->Description / sizeof desc->Description[0];
    for (std::size_t i = 0; i < description_.name.size() && i + 1 < kRoom; ++i) {
      desc->Description[i] = static_cast<WCHAR>(description_.name[i]);
    }
    desc->VendorId = kNvidia;
    desc->DedicatedVideoMemory = description_.dedicated;
    desc->SharedSystemMemory = description_.shared;
    desc->AdapterLuid = {description_.luid.low_part, description_.luid.high_part};
    return S_OK;
  }

  IDXGIFactory* const factory_;
  const int card_;
  const sim::win::AdapterDescription description_;
};

class Factory final : public Object<IDXGIFactory6> {
 public:
  explicit Factory(UINT flags) : flags_(flags) {}

  HRESULT STDMETHODCALLTYPE GetParent(REFIID, void** parent) override {
    if (parent != nullptr) *parent = nullptr;
    return E_NOINTERFACE;
  }
  HRESULT STDMETHODCALLTYPE EnumAdapters(UINT index, IDXGIAdapter** adapter) override {
    return adapter_at(index, __uuidof(IDXGIAdapter), reinterpret_cast<void**>(adapter));
  }
  HRESULT STDMETHODCALLTYPE EnumAdapters1(UINT index, IDXGIAdapter1** adapter) override {
    return adapter_at(index, __uuidof(IDXGIAdapter1), reinterpret_cast<void**>(adapter));
  }
  HRESULT STDMETHODCALLTYPE EnumAdapterByGpuPreference(UINT index, DXGI_GPU_PREFERENCE, REFIID id,
                                                       void** adapter) override {
    return adapter_at(index, id, adapter);
  }
  HRESULT STDMETHODCALLTYPE EnumAdapterByLuid(LUID luid, REFIID id, void** adapter) override {
    sim::win::AdapterDescription description;
    for (int card = 0; backend() != nullptr && backend()->describe_adapter(card, &description); ++card) {
      if (description.luid.low_part == luid.LowPart && description.luid.high_part == luid.HighPart) {
        return adapter_at(static_cast<UINT>(card), id, adapter);
      }
    }
    return refuse(adapter, DXGI_ERROR_NOT_FOUND);
  }
  HRESULT STDMETHODCALLTYPE EnumWarpAdapter(REFIID, void** adapter) override {
    return refuse(adapter, DXGI_ERROR_NOT_FOUND);
  }
  WINBOOL STDMETHODCALLTYPE IsCurrent() override { return TRUE; }
  UINT STDMETHODCALLTYPE GetCreationFlags() override { return flags_; }
  HRESULT STDMETHODCALLTYPE CheckFeatureSupport(DXGI_FEATURE, void*, UINT) override { return kNothingToShow; }

  // There are no windows.
  HRESULT STDMETHODCALLTYPE MakeWindowAssociation(HWND, UINT) override { return kNothingToShow; }
  HRESULT STDMETHODCALLTYPE GetWindowAssociation(HWND*) override { return kNothingToShow; }
  HRESULT STDMETHODCALLTYPE CreateSwapChain(IUnknown*, DXGI_SWAP_CHAIN_DESC*, IDXGISwapChain**) override {
    return kNothingToShow;
  }
  HRESULT STDMETHODCALLTYPE CreateSoftwareAdapter(HMODULE, IDXGIAdapter**) override { return kNothingToShow; }
  WINBOOL STDMETHODCALLTYPE IsWindowedStereoEnabled() override { return FALSE; }
  HRESULT STDMETHODCALLTYPE CreateSwapChainForHwnd(IUnknown*, HWND, const DXGI_SWAP_CHAIN_DESC1*,
                                                   const DXGI_SWAP_CHAIN_FULLSCREEN_DESC*, IDXGIOutput*,
                                                   IDXGISwapChain1**) override {
    return kNothingToShow;
  }
  HRESULT STDMETHODCALLTYPE CreateSwapChainForCoreWindow(IUnknown*, IUnknown*, const DXGI_SWAP_CHAIN_DESC1*,
                                                         IDXGIOutput*, IDXGISwapChain1**) override {
    return kNothingToShow;
  }
  HRESULT STDMETHODCALLTYPE CreateSwapChainForComposition(IUnknown*, const DXGI_SWAP_CHAIN_DESC1*, IDXGIOutput*,
                                                          IDXGISwapChain1**) override {
    return kNothingToShow;
  }
  HRESULT STDMETHODCALLTYPE GetSharedResourceAdapterLuid(HANDLE, LUID*) override { return kNothingToShow; }
  HRESULT STDMETHODCALLTYPE RegisterStereoStatusWindow(HWND, UINT, DWORD*) override { return kNothingToShow; }
  HRESULT STDMETHODCALLTYPE RegisterStereoStatusEvent(HANDLE, DWORD*) override { return kNothingToShow; }
  void STDMETHODCALLTYPE UnregisterStereoStatus(DWORD) override {}
  HRESULT STDMETHODCALLTYPE RegisterOcclusionStatusWindow(HWND, UINT, DWORD*) override { return kNothingToShow; }
  HRESULT STDMETHODCALLTYPE RegisterOcclusionStatusEvent(HANDLE, DWORD*) override { return kNothingToShow; }
  void STDMETHODCALLTYPE UnregisterOcclusionStatus(DWORD) override {}

 private:
  bool is(REFIID id) const override {
    return id == __uuidof(IDXGIObject) || id == __uuidof(IDXGIFactory) || id == __uuidof(IDXGIFactory1) ||
           id == __uuidof(IDXGIFactory2) || id == __uuidof(IDXGIFactory3) || id == __uuidof(IDXGIFactory4) ||
           id == __uuidof(IDXGIFactory5) || id == __uuidof(IDXGIFactory6);
  }
  HRESULT adapter_at(UINT index, REFIID id, void** adapter) {
    sim::win::AdapterDescription description;
    const int card = index < 64 ? static_cast<int>(index) : -1;
    if (adapter == nullptr || backend() == nullptr || !backend()->describe_adapter(card, &description)) {
      return refuse(adapter, DXGI_ERROR_NOT_FOUND);
    }
    return give(new (std::nothrow) Adapter(this, card, description), id, adapter);
  }

  const UINT flags_;
};

}  // namespace

extern "C" {

HRESULT WINAPI CreateDXGIFactory2(UINT flags, REFIID id, void** factory) {
  return give(new (std::nothrow) Factory(flags), id, factory);
}
HRESULT WINAPI CreateDXGIFactory1(REFIID id, void** factory) { return CreateDXGIFactory2(0, id, factory); }
HRESULT WINAPI CreateDXGIFactory(REFIID id, void** factory) { return CreateDXGIFactory2(0, id, factory); }
HRESULT WINAPI DXGIGetDebugInterface1(UINT, REFIID, void** debug) {
  if (debug != nullptr) *debug = nullptr;
  return E_NOINTERFACE;
}
HRESULT WINAPI DXGIDeclareAdapterRemovalSupport() { return S_OK; }

}  // extern "C"

}  // namespace tidegate::front
