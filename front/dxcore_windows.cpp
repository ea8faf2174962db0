// DXCore as far as a program needs it that reads video memory budgets: what DXGI answers (dxgi_windows.cpp), in its
// other form. One factory per process, as in Windows; notifications are refused.
#include <cstring>
#include <new>
#include <string>

#include "front/com_object.h"
#include "front/dxcore_abi.h"
#include "front/front.h"
#include "sim/backend.h"

namespace tidegate::front {
namespace {

using sim::win::AdapterDescription;

HRESULT factory(REFIID id, void** object);

class Adapter final : public ComObject<dxcore::Adapter> {
 public:
  Adapter(int card, AdapterDescription description) : card_(card), description_(std::move(description)) {}

  bool STDMETHODCALLTYPE IsValid() override { return true; }
  bool STDMETHODCALLTYPE IsAttributeSupported(REFGUID) override { return false; }
  bool STDMETHODCALLTYPE IsPropertySupported(dxcore::Property property) override { return !value_of(property).empty(); }
  HRESULT STDMETHODCALLTYPE GetPropertySize(dxcore::Property property, std::size_t* size) override {
    const std::string value = value_of(property);
    if (size == nullptr) return E_POINTER;
    *size = value.size();
    return value.empty() ? E_INVALIDARG : S_OK;
  }
  HRESULT STDMETHODCALLTYPE GetProperty(dxcore::Property property, std::size_t size, void* data) override {
    const std::string value = value_of(property);
    if (data == nullptr) return E_POINTER;
    if (value.empty() || size < value.size()) return E_INVALIDARG;
    std::memcpy(data, value.data(), value.size());
    return S_OK;
  }
  bool STDMETHODCALLTYPE IsQueryStateSupported(dxcore::State state) override {
    return state == dxcore::State::kAdapterMemoryBudget;
  }
  HRESULT STDMETHODCALLTYPE QueryState(dxcore::State state, std::size_t details_size, const void* details,
                                       std::size_t size, void* data) override {
    sim::win::QueryVideoMemoryInfo info{};
    dxcore::NodeSegmentGroup which{};
    if (!IsQueryStateSupported(state)) return E_INVALIDARG;
    if (details == nullptr || data == nullptr) return E_POINTER;
    if (details_size < sizeof which || size < sizeof info) return E_INVALIDARG;
    std::memcpy(&which, details, sizeof which);
    const HRESULT result = backend()->query_video_memory_info(
        card_, which.node, static_cast<sim::win::SegmentGroup>(which.segment_group), &info);
    if (result == S_OK) std::memcpy(data, &info, sizeof info);  // the layouts are one
    return result;
  }
  bool STDMETHODCALLTYPE IsSetStateSupported(dxcore::State) override { return false; }
  HRESULT STDMETHODCALLTYPE SetState(dxcore::State, std::size_t, const void*, std::size_t, const void*) override {
    return E_INVALIDARG;
  }
  HRESULT STDMETHODCALLTYPE GetFactory(REFIID id, void** object) override { return factory(id, object); }

 private:
  bool is(REFIID id) const override { return id == dxcore::kAdapterId; }

  // The property's bytes; none: not supported.
  std::string value_of(dxcore::Property property) const {
    const auto bytes = [](const auto& value) {
      return std::string(reinterpret_cast<const char*>(&value), sizeof value);  // NOLINT: its bytes
    };
    switch (property) {
      case dxcore::Property::kInstanceLuid:
        return bytes(description_.luid);
      case dxcore::Property::kDriverDescription:
        return {description_.name.c_str(), description_.name.size() + 1};
      case dxcore::Property::kDedicatedAdapterMemory:
        return bytes(description_.dedicated);
      case dxcore::Property::kDedicatedSystemMemory:
        return bytes(std::uint64_t{0});
      case dxcore::Property::kSharedSystemMemory:
        return bytes(description_.shared);
      case dxcore::Property::kIsHardware:
        return bytes(true);
      case dxcore::Property::kIsIntegrated:
      case dxcore::Property::kIsDetachable:
        return bytes(false);
    }
    return {};
  }

  const int card_;
  const AdapterDescription description_;
};

HRESULT adapter_of(int card, REFIID id, void** adapter) {
  AdapterDescription description;
  if (backend() == nullptr || !backend()->describe_adapter(card, &description)) return refuse(adapter, E_INVALIDARG);
  return give(new (std::nothrow) Adapter(card, description), id, adapter);
}

// All adapters: each of ours computes, none is asked what else it can do.
class AdapterList final : public ComObject<dxcore::AdapterList> {
 public:
  HRESULT STDMETHODCALLTYPE GetAdapter(std::uint32_t index, REFIID id, void** adapter) override {
    return adapter_of(index < GetAdapterCount() ? static_cast<int>(index) : -1, id, adapter);
  }
  std::uint32_t STDMETHODCALLTYPE GetAdapterCount() override {
    AdapterDescription description;
    int count = 0;
    while (backend() != nullptr && backend()->describe_adapter(count, &description)) ++count;
    return static_cast<std::uint32_t>(count);
  }
  bool STDMETHODCALLTYPE IsStale() override { return false; }
  HRESULT STDMETHODCALLTYPE GetFactory(REFIID id, void** object) override { return factory(id, object); }
  HRESULT STDMETHODCALLTYPE Sort(std::uint32_t, const dxcore::Preference*) override { return S_OK; }
  bool STDMETHODCALLTYPE IsAdapterPreferenceSupported(dxcore::Preference) override { return false; }

 private:
  bool is(REFIID id) const override { return id == dxcore::kAdapterListId; }
};

class Factory final : public ComObject<dxcore::AdapterFactory> {
 public:
  HRESULT STDMETHODCALLTYPE CreateAdapterList(std::uint32_t, const GUID*, REFIID id, void** list) override {
    return give(new (std::nothrow) AdapterList, id, list);
  }
  HRESULT STDMETHODCALLTYPE GetAdapterByLuid(const LUID& luid, REFIID id, void** adapter) override {
    AdapterDescription description;
    for (int card = 0; backend() != nullptr && backend()->describe_adapter(card, &description); ++card) {
      if (description.luid.low_part == luid.LowPart && description.luid.high_part == luid.HighPart) {
        return adapter_of(card, id, adapter);
      }
    }
    return refuse(adapter, E_INVALIDARG);
  }
  bool STDMETHODCALLTYPE IsNotificationTypeSupported(dxcore::Notification) override { return false; }
  HRESULT STDMETHODCALLTYPE RegisterEventNotification(IUnknown*, dxcore::Notification, void*, void*,
                                                      std::uint32_t*) override {
    return E_NOTIMPL;
  }
  HRESULT STDMETHODCALLTYPE UnregisterEventNotification(std::uint32_t) override { return E_INVALIDARG; }

 private:
  bool is(REFIID id) const override { return id == dxcore::kAdapterFactoryId; }
};

HRESULT factory(REFIID id, void** object) {
  static Factory* const only = new Factory;
  return only->QueryInterface(id, object);
}

}  // namespace

extern "C" HRESULT WINAPI DXCoreCreateAdapterFactory(REFIID id, void** object) { return factory(id, object); }

}  // namespace tidegate::front
