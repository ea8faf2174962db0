#include "src/store/reader_pool.h"

namespace tidegate::store {

ReaderPool::ReaderPool(base::Executor& executor, PartListener& listener, unsigned readers)
    : executor_(executor), listener_(listener) {
  for (unsigned i = 0; i < readers; ++i) {
    readers_.push_back(std::make_unique<Reader>(*this));
    executor_.add(*readers_.back());
  }
}

ReaderPool::~ReaderPool() {
  {
    const base::Lock lock(mutex_);
    queue_.clear();
  }
  for (const auto& reader : readers_) executor_.remove(*reader);
}

void ReaderPool::submit(const std::vector<FilePart>& parts) {
  {
    const base::Lock lock(mutex_);
    queue_.insert(queue_.end(), parts.begin(), parts.end());
  }
  for (const auto& reader : readers_) executor_.wake(*reader);
}

base::Nanos ReaderPool::Reader::step(base::Nanos now) {
  FilePart part;
  {
    const base::Lock lock(pool_.mutex_);
    if (pool_.queue_.empty()) return base::kNever;
    part = pool_.queue_.front();
    pool_.queue_.pop_front();
  }
  pool_.listener_.part_read(part.ticket, part.file->read(part.offset, part.to, part.bytes));
  return now;
}

}  // namespace tidegate::store
