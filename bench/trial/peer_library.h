// The exported functions of comfy-aimdo's native library that ComfyUI reaches through the package: names and types are
// those of its Python side. Found at run time; nothing of it is here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/driver/library.h"

// X(name, result, (parameters))
#define TG_AIMDO_FUNCTIONS(X)                                                                                   \
  X(set_log_callback, void, (void (*)(int level, const char* line)))                                            \
  X(set_log_level_debug, void, ())                                                                              \
  X(set_nvml_pressure, void, (bool))                                                                            \
  X(plat_init, bool, ())                                                                                        \
  X(plat_cleanup, void, ())                                                                                     \
  X(init, bool, (const int* devices, const std::uint64_t* headrooms, std::size_t count))                        \
  X(cleanup, void, ())                                                                                          \
  X(get_devctx, void*, (int device))                                                                            \
  X(vbar_allocate, void*, (void* device, std::uint64_t bytes, int ordinal, void* pageout))                      \
  X(vbar_free, void, (void* device, void* bar))                                                                 \
  X(vbar_get, std::uint64_t, (void* device, void* bar))                                                         \
  X(vbar_prioritize, void, (void* device, void* bar, std::uint64_t clamp))                                      \
  X(vbar_fault, int, (void* device, void* bar, std::uint64_t offset, std::uint64_t bytes, std::uint32_t* sign)) \
  X(vbar_unpin, void, (void* device, void* bar, std::uint64_t offset, std::uint64_t bytes))                     \
  X(vbars_reset_watermark_limits, void, (void* device))                                                         \
  X(vrambuf_create, void*, (int ordinal, std::size_t most))                                                     \
  X(vrambuf_grow, bool, (void* buffer, std::size_t bytes))                                                      \
  X(vrambuf_get, std::uint64_t, (void* buffer))                                                                 \
  X(vrambuf_destroy, bool, (void* buffer))

// From 0.5 on.
#define TG_AIMDO_GRAPH_FUNCTIONS(X)                                           \
  X(malloc_graph_create, void*, (void* device, void* stream, bool assert_no)) \
  X(malloc_graph_push, bool, (void* graph, const char* scope))                \
  X(malloc_graph_pop, int, (void* graph))                                     \
  X(malloc_graph_abort, bool, (void* graph))                                  \
  X(malloc_graph_destroy, void, (void* graph))

namespace tidegate::trial {

struct PeerLibrary {
#define TG_FIELD(name, result, parameters) result(*name) parameters = nullptr;
  TG_AIMDO_FUNCTIONS(TG_FIELD)
  TG_AIMDO_GRAPH_FUNCTIONS(TG_FIELD)
#undef TG_FIELD

  // Errors: kNoDriver with the loader's words; kNotFound, a function that it should export.
  static Result<PeerLibrary> open(const std::string& path) {
    auto resolve = driver::open_library(path);
    if (!resolve) return resolve.error();
    PeerLibrary library;
#define TG_REQUIRED(name, result, parameters)                                    \
  library.name = reinterpret_cast<result(*) parameters>(resolve.value()(#name)); \
  if (library.name == nullptr) return Error{Errc::kNotFound, path + ": exports no " + #name};
#define TG_OPTIONAL(name, result, parameters) \
  library.name = reinterpret_cast<result(*) parameters>(resolve.value()(#name));
    TG_AIMDO_FUNCTIONS(TG_REQUIRED)
    TG_AIMDO_GRAPH_FUNCTIONS(TG_OPTIONAL)
#undef TG_REQUIRED
#undef TG_OPTIONAL
    return library;
  }
  bool has_graphs() const { return malloc_graph_create != nullptr; }
};

}  // namespace tidegate::trial
