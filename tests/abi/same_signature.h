// Compares a method of a table with a function of the vendor's header: same number of parameters, each passed alike.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace tidegate::abi {

template <typename T, typename = void>
inline constexpr bool is_complete = false;
template <typename T>
inline constexpr bool is_complete<T, std::void_t<decltype(sizeof(T))>> = true;

template <typename T>
inline constexpr bool is_word = std::is_integral_v<T> || std::is_enum_v<T>;

// Pointers are followed: to void, to an incomplete type (a handle), or to values of the same shape.
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  using A = std::remove_cv_t<Ours>;
  using B = std::remove_cv_t<Theirs>;
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_cv_t<std::remove_pointer_t<A>>;
    using From = std::remove_cv_t<std::remove_pointer_t<B>>;
    if constexpr (std::is_void_v<To> || std::is_void_v<From>) {
      return std::is_void_v<To> && std::is_void_v<From>;
    } else if constexpr (!is_complete<To> || !is_complete<From>) {
      return !is_complete<To> && !is_complete<From>;
    } else {
      return passed_alike<To, From>();
    }
  } else if constexpr (is_word<A> && is_word<B>) {
    return sizeof(A) == sizeof(B);
  } else if constexpr (std::is_floating_point_v<A> && std::is_floating_point_v<B>) {
    return sizeof(A) == sizeof(B);
  } else if constexpr (std::is_class_v<A> && std::is_class_v<B>) {
    return sizeof(A) == sizeof(B) && alignof(A) == alignof(B);
  } else if constexpr (std::is_pointer_v<A> && std::is_class_v<B>) {
    return sizeof(B) == sizeof(A) && std::is_trivially_copyable_v<B>;  // NVML wraps its handles in a structure
  } else {
    return false;
  }
}

template <typename Method, typename Function>
inline constexpr bool same_signature = false;
template <typename Table, typename R, typename... A, typename S, typename... B>
inline constexpr bool same_signature<R (Table::*)(A...), S (*)(B...)> = [] {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return passed_alike<R, S>() && (passed_alike<A, B>() && ...);
  } else {
    return false;
  }
}();

}  // namespace tidegate::abi

#define TG_SAME_VALUE(ours, theirs) \
  static_assert(static_cast<unsigned long long>(ours) == static_cast<unsigned long long>(theirs), #theirs)
#define TG_SAME_SIZE(ours, theirs) \
  static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs), #theirs)
#define TG_SAME_FIELD(ours, our_field, theirs, their_field)                                         \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                       \
                    sizeof(((ours*)nullptr)->our_field) == sizeof(((theirs*)nullptr)->their_field), \
                #theirs "::" #their_field)
