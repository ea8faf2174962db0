// The card as a PyTorch program uses it: the default stream for computing, two more for bringing weights in, the
// default memory pool for temporaries. A call that must not fail and does ends the program with one line.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "src/driver/driver.h"
#include "src/driver/kernels.h"
#include "tidegate/card.h"

namespace tidegate::trial {

class Gpu {
 public:
  explicit Gpu(std::unique_ptr<Card> card);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Card& card() { return *card_; }
  driver::Driver& cuda() { return cuda_; }
  driver::Stream compute() const { return nullptr; }

  // The next of the two streams for bringing weights in, ordered after what computes now on the oldest of them.
  driver::Stream next_offload_stream();
  // `waiter` goes on when what `on` holds now has passed.
  void wait_stream(driver::Stream waiter, driver::Stream on);
  void synchronize_offload();

  // Stream-ordered memory; 0: out of memory, counted.
  driver::DevicePtr allocate(Bytes bytes, driver::Stream stream);
  void free(driver::DevicePtr at, driver::Stream stream);
  void copy(driver::DevicePtr to, const void* from, Bytes bytes, driver::Stream stream);
  // A kernel of `ns` that reads [at, at + bytes).
  void work(driver::DevicePtr at, Bytes bytes, std::uint64_t ns);
  void synchronize_compute();
  // torch.cuda.synchronize() and empty_cache().
  void empty_cache();
  Bytes free_bytes();

  std::uint64_t out_of_memory() const { return out_of_memory_; }
  void must(driver::Status status, const char* what);

 private:
  std::unique_ptr<Card> card_;
  driver::Driver& cuda_;
  driver::CheckKernels kernels_;
  driver::MemPool pool_ = nullptr;
  std::array<driver::Stream, 2> offload_{};
  std::size_t last_ = 0;
  driver::Event event_ = nullptr;
  std::uint64_t out_of_memory_ = 0;
};

// The outputs of uses: each lives until the use after the next has been submitted.
class Temporaries {
 public:
  explicit Temporaries(Gpu& gpu) : gpu_(gpu) {}
  ~Temporaries() { clear(); }
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;
  void add(Bytes bytes);
  void clear();

 private:
  Gpu& gpu_;
  std::deque<driver::DevicePtr> live_;
};

[[noreturn]] void fail(const char* what, const char* why);

}  // namespace tidegate::trial
