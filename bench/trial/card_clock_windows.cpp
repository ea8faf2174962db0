#include <cstdint>
#include <cstring>

#include <windows.h>

#include "bench/trial/card_clock.h"

namespace tidegate::trial {
namespace {

std::int64_t card_time = -1;  // nanoseconds; negative: the wall's

using Now = std::int64_t (*)();
Now sim_now() {
  static const Now now = [] {
    const HMODULE front = ::GetModuleHandleA("nvcuda.dll");
    if (front == nullptr) return Now{nullptr};
    return reinterpret_cast<Now>(reinterpret_cast<void*>(::GetProcAddress(front, "tidegate_sim_now")));
  }();
  return now;
}

ULONGLONG WINAPI card_ticks() {
  return card_time < 0 ? ::GetTickCount64() : static_cast<ULONGLONG>(card_time / 1'000'000);
}

template <typename T>
T* at(HMODULE module, std::size_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(module) + offset);
}

}  // namespace

// Points the library's import of GetTickCount64 at the card's clock.
void give_card_clock(const std::string& library) {
  const HMODULE module = ::GetModuleHandleA(library.c_str());
  if (module == nullptr) return;
  const auto* headers = at<IMAGE_NT_HEADERS>(module, at<IMAGE_DOS_HEADER>(module, 0)->e_lfanew);
  const IMAGE_DATA_DIRECTORY& directory = headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
  if (directory.Size == 0) return;
  for (auto* from = at<IMAGE_IMPORT_DESCRIPTOR>(module, directory.VirtualAddress); from->Name != 0; ++from) {
    auto* name = at<IMAGE_THUNK_DATA>(module, from->OriginalFirstThunk);
    auto* entry = at<IMAGE_THUNK_DATA>(module, from->FirstThunk);
    for (; name->u1.AddressOfData != 0; ++name, ++entry) {
      if (IMAGE_SNAP_BY_ORDINAL(name->u1.Ordinal)) continue;
      const auto* import = at<IMAGE_IMPORT_BY_NAME>(module, name->u1.AddressOfData);
      if (std::strcmp(reinterpret_cast<const char*>(import->Name), "GetTickCount64") != 0) continue;
      DWORD before = 0;
      if (::VirtualProtect(entry, sizeof *entry, PAGE_READWRITE, &before) == 0) return;
      entry->u1.Function = reinterpret_cast<ULONGLONG>(&card_ticks);
      (void)::VirtualProtect(entry, sizeof *entry, before, &before);
    }
  }
}

void set_card_clock() {
  if (keep_wall_clock) return;
  if (const Now now = sim_now()) card_time = now();
}

double card_seconds() {
  const Now now = sim_now();
  return now == nullptr ? -1 : static_cast<double>(now()) / 1e9;
}

}  // namespace tidegate::trial
