// Where a ledger lies and who is alive: shared memory and a lock for each row. Three are known: a file with the
// system's locks, a table of simulated processes, and whatever a test makes up.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/shared_file.h"

namespace tidegate::share {

// Any thread; nothing waits.
class LedgerStore {
 public:
  virtual ~LedgerStore() = default;
  virtual std::span<std::byte> bytes() = 0;
  virtual bool try_lock(int row) = 0;  // for this process; false: another one has it
  virtual void unlock(int row) = 0;
  virtual bool locked(int row) = 0;              // by any process, this one included
  virtual base::ProcessIdentity identity() = 0;  // of this process
};

class FileStore final : public LedgerStore {
 public:
  explicit FileStore(std::shared_ptr<base::SharedFile> file) : file_(std::move(file)) {}
  std::span<std::byte> bytes() override { return file_->bytes(); }
  bool try_lock(int row) override { return file_->try_lock(static_cast<std::uint32_t>(row)); }
  void unlock(int row) override { file_->unlock(static_cast<std::uint32_t>(row)); }
  bool locked(int row) override { return file_->locked(static_cast<std::uint32_t>(row)); }
  base::ProcessIdentity identity() override { return base::process_identity(); }

 private:
  std::shared_ptr<base::SharedFile> file_;
};

// A card's ledger in a simulated machine, where processes are objects: who holds which row stands in a table.
class LedgerTable {
 public:
  LedgerTable(std::size_t bytes, int rows);
  std::span<std::byte> bytes() { return {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * kLine}; }
  // The store as the process with this number, not 0, has it. The table outlives it.
  std::unique_ptr<LedgerStore> store_of(int process);
  // The process dies: its locks are gone, its rows as they were.
  void kill(int process);

 private:
  friend class TableStore;
  static constexpr std::size_t kLine = 64;
  struct alignas(kLine) Line {
    std::byte bytes[kLine]{};
  };
  base::Mutex mutex_;
  std::vector<Line> memory_;
  std::vector<int> owners_;  // of the rows; 0: nobody
};

}  // namespace tidegate::share
