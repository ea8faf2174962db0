// DXCore's interfaces, as far as they are needed: facts of Windows' x64 interface (order of methods, ids, numbers,
// layouts), in our own words; mingw-w64 10 has no header for them. The methods' names are Windows'.
#pragma once

#include <cstddef>
#include <cstdint>

#include <unknwn.h>

namespace tidegate::front::dxcore {

inline constexpr GUID kAdapterFactoryId{0x78ee5945, 0xc36e, 0x4b13, {0xa6, 0x69, 0x00, 0x5d, 0xd1, 0x1c, 0x0f, 0x06}};
inline constexpr GUID kAdapterListId{0x526c7776, 0x40e9, 0x459b, {0xb7, 0x11, 0xf3, 0x2a, 0xd7, 0x6d, 0xfc, 0x28}};
inline constexpr GUID kAdapterId{0xf0db4c7f, 0xfe5a, 0x42a2, {0xbd, 0x62, 0xf2, 0xa6, 0xcf, 0x6f, 0xc8, 0x3e}};

enum class Property : std::uint32_t {
  kInstanceLuid = 0,
  kDriverDescription = 2,
  kDedicatedAdapterMemory = 7,
  kDedicatedSystemMemory = 8,
  kSharedSystemMemory = 9,
  kIsHardware = 11,
  kIsIntegrated = 12,
  kIsDetachable = 13,
};
enum class State : std::uint32_t { kAdapterMemoryBudget = 1 };
enum class Notification : std::uint32_t {};
enum class Preference : std::uint32_t {};

struct NodeSegmentGroup {  // DXCoreAdapterMemoryBudgetNodeSegmentGroup
  std::uint32_t node;
  std::uint32_t segment_group;
};
static_assert(sizeof(NodeSegmentGroup) == 8);

struct Adapter : IUnknown {
  virtual bool STDMETHODCALLTYPE IsValid() = 0;
  virtual bool STDMETHODCALLTYPE IsAttributeSupported(REFGUID attribute) = 0;
  virtual bool STDMETHODCALLTYPE IsPropertySupported(Property property) = 0;
  virtual HRESULT STDMETHODCALLTYPE GetProperty(Property property, std::size_t size, void* data) = 0;
  virtual HRESULT STDMETHODCALLTYPE GetPropertySize(Property property, std::size_t* size) = 0;
  virtual bool STDMETHODCALLTYPE IsQueryStateSupported(State state) = 0;
  virtual HRESULT STDMETHODCALLTYPE QueryState(State state, std::size_t details_size, const void* details,
                                               std::size_t size, void* data) = 0;
  virtual bool STDMETHODCALLTYPE IsSetStateSupported(State state) = 0;
  virtual HRESULT STDMETHODCALLTYPE SetState(State state, std::size_t details_size, const void* details,
                                             std::size_t size, const void* data) = 0;
  virtual HRESULT STDMETHODCALLTYPE GetFactory(REFIID id, void** factory) = 0;
};

struct AdapterList : IUnknown {
  virtual HRESULT STDMETHODCALLTYPE GetAdapter(std::uint32_t index, REFIID id, void** adapter) = 0;
  virtual std::uint32_t STDMETHODCALLTYPE GetAdapterCount() = 0;
  virtual bool STDMETHODCALLTYPE IsStale() = 0;
  virtual HRESULT STDMETHODCALLTYPE GetFactory(REFIID id, void** factory) = 0;
  virtual HRESULT STDMETHODCALLTYPE Sort(std::uint32_t count, const Preference* preferences) = 0;
  virtual bool STDMETHODCALLTYPE IsAdapterPreferenceSupported(Preference preference) = 0;
};

struct AdapterFactory : IUnknown {
  virtual HRESULT STDMETHODCALLTYPE CreateAdapterList(std::uint32_t count, const GUID* attributes, REFIID id,
                                                      void** list) = 0;
  virtual HRESULT STDMETHODCALLTYPE GetAdapterByLuid(const LUID& luid, REFIID id, void** adapter) = 0;
  virtual bool STDMETHODCALLTYPE IsNotificationTypeSupported(Notification notification) = 0;
  virtual HRESULT STDMETHODCALLTYPE RegisterEventNotification(IUnknown* object, Notification notification,
                                                              void* callback, void* context, std::uint32_t* cookie) = 0;
  virtual HRESULT STDMETHODCALLTYPE UnregisterEventNotification(std::uint32_t cookie) = 0;
};

}  // namespace tidegate::front::dxcore
