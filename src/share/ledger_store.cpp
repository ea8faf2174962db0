#include "src/share/ledger_store.h"

namespace tidegate::share {

LedgerTable::LedgerTable(std::size_t bytes, int rows)
    : memory_((bytes + kLine - 1) / kLine), owners_(static_cast<std::size_t>(rows), 0) {}

class TableStore final : public LedgerStore {
 public:
  TableStore(LedgerTable& table, int process) : table_(table), process_(process) {}
  std::span<std::byte> bytes() override { return table_.bytes(); }
  bool try_lock(int row) override {
    const base::Lock hold(table_.mutex_);
    int& owner = table_.owners_[static_cast<std::size_t>(row)];
    if (owner != 0 && owner != process_) return false;
    owner = process_;
    return true;
  }
  void unlock(int row) override {
    const base::Lock hold(table_.mutex_);
    int& owner = table_.owners_[static_cast<std::size_t>(row)];
    if (owner == process_) owner = 0;
  }
  bool locked(int row) override {
    const base::Lock hold(table_.mutex_);
    return table_.owners_[static_cast<std::size_t>(row)] != 0;
  }
  base::ProcessIdentity identity() override { return {.pid = static_cast<std::uint64_t>(process_)}; }

 private:
  LedgerTable& table_;
  int process_;
};

std::unique_ptr<LedgerStore> LedgerTable::store_of(int process) { return std::make_unique<TableStore>(*this, process); }

void LedgerTable::kill(int process) {
  const base::Lock hold(mutex_);
  for (int& owner : owners_) {
    if (owner == process) owner = 0;
  }
}

}  // namespace tidegate::share
