// Reads parts of files side by side: a single reader does not reach a fast disk's speed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "src/base/executor.h"
#include "src/base/input_file.h"

namespace tidegate::store {

struct FilePart {
  const base::InputFile* file = nullptr;
  Bytes offset = 0;
  std::byte* to = nullptr;
  Bytes bytes = 0;
  std::uint64_t ticket = 0;  // the listener's own number for it
};

class PartListener {
 public:
  virtual ~PartListener() = default;
  // Called on a reader's thread, without a lock.
  virtual void part_read(std::uint64_t ticket, const Result<void>& outcome) = 0;
};

// Thread-safe. Parts are begun in the order in which they were submitted.
class ReaderPool {
 public:
  // `readers`: tasks of the executor, one read in flight each.
  ReaderPool(base::Executor& executor, PartListener& listener, unsigned readers);
  // Reads that were not begun are dropped, unheard; those under way are waited for.
  ~ReaderPool();
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  void submit(const std::vector<FilePart>& parts);

 private:
  class Reader final : public base::Task {
   public:
    explicit Reader(ReaderPool& pool) : pool_(pool) {}
    const char* name() const override { return "file reader"; }
    base::Nanos step(base::Nanos now) override;

   private:
    ReaderPool& pool_;
  };

  base::Executor& executor_;
  PartListener& listener_;
  std::vector<std::unique_ptr<Reader>> readers_;
  base::Mutex mutex_;  // guards what follows
  std::deque<FilePart> queue_;
};

}  // namespace tidegate::store
