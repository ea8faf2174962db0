// From a model file to the card through a bounded ring of page-locked memory: several reads are in flight while earlier
// ones are copied on, and host memory is the ring's, whatever the file's size.
#pragma once

#include <span>
#include <vector>

#include "src/base/executor.h"
#include "src/store/model_file.h"
#include "src/store/pinned_arena.h"
#include "tidegate/card.h"

namespace tidegate::store {

struct LoadOptions {
  Bytes piece = 8 * kMiB;  // read and copied at a time; a multiple of InputFile::kDirectAlign
  unsigned readers = 4;    // reads in flight; each has two pieces of the ring
  // What is left out, to measure the legs alone.
  bool read = true;
  bool copy = true;

  Bytes ring_bytes() const { return piece * readers * 2; }
};

// Where a tensor goes; its index in ModelFile::tensors().
struct Destination {
  std::size_t tensor = 0;
  cu::DevicePtr address = 0;
};

struct LoadStats {
  Bytes bytes = 0;       // copied, or only read
  base::Nanos took = 0;  // on the card's clock
};

// Loads the tensors and returns when their bytes are on the card. The calling thread has the card's context current;
// reading is done by `readers` tasks of the card's executor. Errors: those of InputFile::read, of the arena, kDriver;
// what was copied until then stays on the card.
Result<LoadStats> load_to_card(Card& card, PinnedArena& arena, const ModelFile& file,
                               std::span<const Destination> destinations, const LoadOptions& options);

}  // namespace tidegate::store
