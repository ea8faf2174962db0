// Values as bytes, in the order in which they are put. Both ends are of one build and one machine: no byte order, no
// versions beyond kProtocol.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace tidegate::sim::remote {

class Writer {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(&value, sizeof value);
  }
  void put_bytes(const void* data, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size > 0) std::memcpy(bytes_.data() + at, data, size);
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

// Reading past the end answers zeros, and ok() false from then on.
class Reader {
 public:
  Reader(const unsigned char* data, std::size_t size) : data_(data), left_(size) {}

  template <typename T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    (void)get_bytes(&value, sizeof value);
    return value;
  }
  bool get_bytes(void* to, std::size_t size) {
    if (size > left_) {
      ok_ = false;
      left_ = 0;
      return false;
    }
    if (size > 0) std::memcpy(to, data_, size);
    data_ += size;
    left_ -= size;
    return true;
  }
  std::string get_text() {
    const auto size = get<std::uint32_t>();
    std::string text(size <= left_ ? size : 0, '\0');
    if (size > left_) ok_ = false;
    (void)get_bytes(text.data(), text.size());
    return text;
  }
  std::size_t left() const { return left_; }
  bool ok() const { return ok_; }

 private:
  const unsigned char* data_;
  std::size_t left_;
  bool ok_ = true;
};

inline constexpr std::uint32_t kProtocol = 1;

// What a request is about: the first word of it.
enum class Table : std::uint32_t { kHello, kCuda, kNvml, kBytes, kTime, kWindows };

// Of Table::kWindows: the second word.
enum class WindowsCall : std::uint32_t { kDescribeAdapter, kQueryVideoMemoryInfo, kQueryStatistics };

}  // namespace tidegate::sim::remote
