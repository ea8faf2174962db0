// What every COM object does: count its owners, answer which interfaces it has. Thread-safe. Windows only.
#pragma once

#include <atomic>

#include <unknwn.h>

namespace tidegate::front {

// `Interface` is the newest of a line of interfaces that derive from one another; is() knows their ids.
template <typename Interface>
class ComObject : public Interface {
 public:
  ComObject() = default;
  ComObject(const ComObject&) = delete;
  ComObject& operator=(const ComObject&) = delete;

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID id, void** object) final {
    if (object == nullptr) return E_POINTER;
    *object = nullptr;
    if (id != __uuidof(IUnknown) && !is(id)) return E_NOINTERFACE;
    AddRef();
    *object = static_cast<Interface*>(this);
    return S_OK;
  }
  ULONG STDMETHODCALLTYPE AddRef() final { return ++owners_; }
  ULONG STDMETHODCALLTYPE Release() final {
    const ULONG left = --owners_;
    if (left == 0) delete this;
    return left;
  }

 protected:
  virtual ~ComObject() = default;
  virtual bool is(REFIID id) const = 0;

 private:
  std::atomic<ULONG> owners_{1};
};

// Hands out a new object, and with it the reference that it was made with. Null: there was no memory for it.
template <typename Made>
HRESULT give(Made* made, REFIID id, void** object) {
  if (made == nullptr) return E_OUTOFMEMORY;
  const HRESULT result = made->QueryInterface(id, object);
  made->Release();
  return result;
}

// Answers `result` and no object.
inline HRESULT refuse(void** object, HRESULT result) {
  if (object == nullptr) return E_POINTER;
  *object = nullptr;
  return result;
}

}  // namespace tidegate::front
