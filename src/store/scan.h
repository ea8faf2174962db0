// Reads weights of a model file once, several pieces side by side, and hands each piece on where it was read to.
#pragma once

#include <functional>
#include <span>

#include "src/base/executor.h"
#include "src/store/model_file.h"

namespace tidegate::store {

// Where a weight's bytes lie.
struct FileExtent {
  std::size_t file = 0;  // index into ModelFile::files()
  Bytes offset = 0;
  Bytes bytes = 0;
};

class PieceSink {
 public:
  virtual ~PieceSink() = default;
  // Bytes [at, at + bytes) of a weight; `data` holds during the call. `at` is a multiple of the piece's size. Called by
  // several readers at a time, never twice for the same bytes.
  virtual void piece(std::size_t weight, Bytes at, const std::byte* data, Bytes bytes) = 0;
};

struct ScanOptions {
  Bytes piece = 8 * kMiB;  // a multiple of InputFile::kDirectAlign
  unsigned readers = 8;    // reads in flight, a buffer each
};

// Returns when all is read. `goes_on` is asked now and then, with the bytes read so far, on the calling thread; false
// ends the scan with kClosed. Errors else: those of InputFile::read, kHostOutOfMemory.
Result<void> scan(base::Executor& executor, const ModelFile& file, std::span<const FileExtent> weights, PieceSink& sink,
                  const std::function<bool(Bytes done)>& goes_on, const ScanOptions& options = {});

}  // namespace tidegate::store
