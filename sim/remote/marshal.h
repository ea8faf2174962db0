// A driver call's parameters as bytes, by their types. What each type means:
//
//   numbers, enumerations, handles   passed as they are
//   T* to one of those or a struct   in and out; null is passed on as null
//   const T* to a struct             in: one, or as many as the std::size_t that follows says
//   const char*                      in: a text
//   char*, then its length           out: a buffer of that many characters
//   void*, const void*, void**       an address in the client's memory that is not looked behind here; only in
//                                    functions that passes_addresses() lists
//
// Anything else, as a handle type that is not listed here, does not compile: such a function needs a line in
// is_special() and code of its own at both ends.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/remote/wire.h"
#include "src/driver/function_id.h"
#include "src/driver/nvml.h"

namespace tidegate::sim::remote {

using Id = driver::FunctionId;

// The functions of NVML's table, numbered.
enum class NvmlId : unsigned {
#define TG_ENUMERATE(method, symbol, need, parameters, arguments) method,
  TG_NVML_FUNCTIONS(TG_ENUMERATE)
#undef TG_ENUMERATE
};

constexpr bool passes_addresses(Id id) {
  return id == Id::mem_free_host || id == Id::mem_host_register || id == Id::mem_host_unregister ||
         id == Id::memcpy_htod_async || id == Id::memcpy_dtoh_async || id == Id::launch_kernel;
}
constexpr bool passes_addresses(NvmlId) { return false; }

// Those with code of their own: remote_driver.cpp and serve_call.cpp.
constexpr bool is_special(Id id) {
  return id == Id::init || id == Id::get_error_name || id == Id::get_error_string || id == Id::mem_host_alloc ||
         id == Id::mem_free_host || id == Id::mem_pool_set_attribute || id == Id::mem_pool_get_attribute ||
         id == Id::module_load_data;
}
constexpr bool is_special(NvmlId id) { return id == NvmlId::device_get_compute_running_processes_v3; }

inline constexpr std::size_t kMostElements = 1024;  // of an array, bytes of a buffer times four
inline constexpr std::size_t kLongestBuffer = 4096;

template <typename T, typename... Others>
inline constexpr bool is_one_of_v = (std::is_same_v<T, Others> || ...);
template <typename T>
inline constexpr bool is_handle_v =
    is_one_of_v<T, cu::Context, cu::Stream, cu::Event, cu::Module, cu::Function, cu::MemPool, cu::Graph, nvml::Device>;
template <typename T>
inline constexpr bool is_plain_v = std::is_arithmetic_v<T> || std::is_enum_v<T> || is_handle_v<T>;
template <typename T>
inline constexpr bool is_record_v = std::is_class_v<T>&& std::is_trivially_copyable_v<T>;

enum class Way { kPlain, kInOut, kArray, kText, kBuffer, kAddress, kUnknown };

template <typename P>
constexpr Way way_of() {
  if constexpr (is_plain_v<P>) {
    return Way::kPlain;
  } else if constexpr (is_one_of_v<P, void*, const void*, void**>) {
    return Way::kAddress;
  } else if constexpr (std::is_same_v<P, const char*>) {
    return Way::kText;
  } else if constexpr (std::is_same_v<P, char*>) {
    return Way::kBuffer;
  } else if constexpr (std::is_pointer_v<P>) {
    using T = std::remove_pointer_t<P>;
    if constexpr (std::is_const_v<T>) {
      return is_record_v<std::remove_const_t<T>> ? Way::kArray : Way::kUnknown;
    } else {
      return is_plain_v<T> || is_record_v<T> ? Way::kInOut : Way::kUnknown;
    }
  } else {
    return Way::kUnknown;
  }
}

template <auto id, typename... P>
constexpr void check_parameters() {
  static_assert(((way_of<P>() != Way::kUnknown) && ...),
                "a parameter that sim/remote/marshal.h cannot pass: list its type, or the function in is_special()");
  static_assert(passes_addresses(id) || ((way_of<P>() != Way::kAddress) && ...),
                "void*: list the function in passes_addresses() if it is an address of the client, else is_special()");
}

// --- The client's end. ---

// How many elements the array at place I has: what follows says, if it is a std::size_t.
template <std::size_t I, typename Tuple>
std::size_t count_after(const Tuple& values) {
  if constexpr (I + 1 < std::tuple_size_v<Tuple>) {
    using Next = std::tuple_element_t<I + 1, Tuple>;
    if constexpr (std::is_same_v<Next, std::size_t>) return std::get<I + 1>(values);
  }
  return 1;
}

template <std::size_t I, typename Tuple>
bool put_parameter(Writer& out, const Tuple& values) {
  using P = std::tuple_element_t<I, Tuple>;
  const P& value = std::get<I>(values);
  constexpr Way way = way_of<P>();
  if constexpr (way == Way::kPlain) {
    out.put(value);
  } else if constexpr (way == Way::kAddress) {
    out.put(reinterpret_cast<std::uintptr_t>(value));
  } else {
    out.put(static_cast<unsigned char>(value != nullptr));
    if (value == nullptr) return true;
    if constexpr (way == Way::kInOut) {
      out.put(*value);
    } else if constexpr (way == Way::kText) {
      if (std::strlen(value) > kLongestBuffer) return false;
      out.put_text(value);
    } else if constexpr (way == Way::kArray) {
      const std::size_t count = count_after<I>(values);
      if (count > kMostElements) return false;
      out.put(static_cast<std::uint32_t>(count));
      for (std::size_t i = 0; i < count; ++i) out.put(value[i]);
    }
  }
  return true;
}

// False: a parameter is beyond all measure.
template <typename Tuple>
bool put_parameters(Writer& out, const Tuple& values) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return (put_parameter<I>(out, values) && ...); }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

template <std::size_t I, typename Tuple>
void get_result(Reader& in, const Tuple& values) {
  using P = std::tuple_element_t<I, Tuple>;
  const P& value = std::get<I>(values);
  constexpr Way way = way_of<P>();
  if constexpr (way == Way::kInOut) {
    if (value == nullptr) return;
    const auto result = in.get<std::remove_pointer_t<P>>();
    if (in.ok()) *value = result;
  } else if constexpr (way == Way::kBuffer) {
    if (value == nullptr) return;
    const auto length = static_cast<long long>(std::get<I + 1>(values));
    const std::string text = in.get_text();
    if (length > 0)
      std::memcpy(value, text.data(), std::min<std::size_t>(text.size(), static_cast<std::size_t>(length)));
  }
}

template <typename Tuple>
void get_results(Reader& in, const Tuple& values) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (get_result<I>(in, values), ...); }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

// --- The server's end: each parameter with what it points to. ---

template <typename P, Way way = way_of<P>()>
struct Held;

template <typename P>
struct Held<P, Way::kPlain> {
  P value{};
  void get(Reader& in) { value = in.get<P>(); }
  P argument() { return value; }
  void put(Writer&) const {}
};

template <typename P>
struct Held<P, Way::kAddress> {
  std::uintptr_t value = 0;
  void get(Reader& in) { value = in.get<std::uintptr_t>(); }
  P argument() { return reinterpret_cast<P>(value); }  // NOLINT: the client's, never looked behind
  void put(Writer&) const {}
};

template <typename P>
struct Held<P, Way::kInOut> {
  bool given = false;
  std::remove_pointer_t<P> value{};
  void get(Reader& in) {
    given = in.get<unsigned char>() != 0;
    if (given) value = in.get<std::remove_pointer_t<P>>();
  }
  P argument() { return given ? &value : nullptr; }
  void put(Writer& out) const {
    if (given) out.put(value);
  }
};

template <typename P>
struct Held<P, Way::kText> {
  bool given = false;
  std::string value;
  void get(Reader& in) {
    given = in.get<unsigned char>() != 0;
    if (given) value = in.get_text();
  }
  P argument() { return given ? value.c_str() : nullptr; }
  void put(Writer&) const {}
};

template <typename P>
struct Held<P, Way::kArray> {
  using T = std::remove_const_t<std::remove_pointer_t<P>>;
  bool given = false;
  std::vector<T> value;
  void get(Reader& in) {
    given = in.get<unsigned char>() != 0;
    if (!given) return;
    const auto count = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) value.push_back(in.get<T>());
  }
  P argument() { return given ? value.data() : nullptr; }
  void put(Writer&) const {}
};

template <typename P>
struct Held<P, Way::kBuffer> {
  bool given = false;
  std::array<char, kLongestBuffer> value{};
  std::size_t length = 0;
  void get(Reader& in) { given = in.get<unsigned char>() != 0; }
  P argument() { return given ? value.data() : nullptr; }
  void put(Writer& out) const {
    if (given) out.put_text(std::string(value.data(), length));
  }
};

// What two neighbours must agree on. False: they do not.
template <std::size_t I, typename Tuple>
bool agree(Tuple& held) {
  using This = std::tuple_element_t<I, Tuple>;
  if constexpr (I + 1 < std::tuple_size_v<Tuple>) {
    auto& self = std::get<I>(held);
    auto& next = std::get<I + 1>(held);
    if constexpr (requires { self.length; }) {
      if (next.value > static_cast<decltype(next.value)>(kLongestBuffer)) {
        next.value = static_cast<decltype(next.value)>(kLongestBuffer);
      }
      self.length = next.value > 0 ? static_cast<std::size_t>(next.value) : 0;
    } else if constexpr (requires {
                           self.value.data();
                           self.given;
                           typename This::T;
                         }) {
      if constexpr (std::is_same_v<decltype(next.value), std::size_t>) {
        return !self.given || next.value == self.value.size();
      } else {
        return !self.given || self.value.size() == 1;
      }
    }
  }
  return true;
}

// Reads the parameters, calls, writes the status and the results. False: the request is not one that put_parameters()
// made; nothing was called then.
template <typename Target, typename Status, typename... P>
bool serve(Target& target, Status (Target::*method)(P...), Reader& in, Writer& out) {
  std::tuple<Held<P>...> held;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    (std::get<I>(held).get(in), ...);
    if (!in.ok() || in.left() > 0 || !(agree<I>(held) && ...)) return false;
    out.put((target.*method)(std::get<I>(held).argument()...));
    (std::get<I>(held).put(out), ...);
    return true;
  }
  (std::index_sequence_for<P...>());
}

}  // namespace tidegate::sim::remote
