// What a layer computes with its weights: a bf16 matrix product on a GPU, a given time on a simulated card.
#pragma once

#include <memory>
#include <vector>

#include "bench/gpu/kit.h"

namespace tidegate::bench {

// A layer's weights are a matrix of kWidth x columns bf16 numbers.
inline constexpr Bytes kWidth = 8192;
inline constexpr Bytes kBytesPerColumn = kWidth * 2;

class LayerWork {
 public:
  virtual ~LayerWork() = default;
  // Queues layer `index`'s work on `stream`, its weights (`bytes` of them) at `weights`.
  virtual void launch(std::size_t index, cu::DevicePtr weights, Bytes bytes, cu::Stream stream) = 0;
};

// tokens x kWidth times kWidth x columns, in bf16 with sums in fp32, by cuBLAS, which is loaded at run time (from the
// dynamic loader's path). `widest`: bytes of the largest layer.
std::unique_ptr<LayerWork> matrix_work(Card& card, Bytes tokens, Bytes widest);

// Layer `index` takes nanoseconds[index], whatever its weights are.
std::unique_ptr<LayerWork> timed_work(Card& card, std::vector<double> nanoseconds);

}  // namespace tidegate::bench
