// Where a model's bytes come from when they do not all lie in host memory: files, through a bounded ring.
#pragma once

#include <cstddef>
#include <functional>

#include "tidegate/result.h"

namespace tidegate {

// Implemented by tidegate's store (src/store/file_source.h) and by anybody else who can produce a weight's bytes. The
// pager calls every method under its own lock and from any of its threads, so none may wait for the pager; only read()
// may take long. Weights are counted as in ModelSpec::weights.
class WeightSource {
 public:
  enum class Supply {
    kReady,   // take() gives them
    kComing,  // being read
    kFull,    // no room to read them now, as what others have asked for is still there
  };

  virtual ~WeightSource() = default;

  // From now on `ready` is called whenever bytes that were kComing, or that failed, can be asked for again, and
  // whenever room was made after kFull. Any thread; it never waits. An empty function ends that; none runs any more
  // when the call returns.
  virtual void connect(std::function<void()> ready) = 0;

  // Copies a weight's bytes to `to`, on the calling thread: small weights, which the pager keeps in host memory.
  virtual Result<void> read(std::size_t weight, void* to) = 0;

  // Asks for a weight's bytes in page-locked memory, and says how far they are. `now`: somebody waits for them, so what
  // was only read ahead makes room. Errors: why they cannot be read; the next call tries again.
  virtual Result<Supply> want(std::size_t weight, bool now) = 0;

  // After kReady, before any further want(): the bytes, unchanged until done() was called as often as take().
  virtual const std::byte* take(std::size_t weight) = 0;
  virtual void done(std::size_t weight) = 0;
};

}  // namespace tidegate
