#include "bench/gpu/layer_work.h"

#include <cmath>

#include "src/driver/kernels.h"
#include "src/driver/library.h"

namespace tidegate::bench {
namespace {

// cuBLAS's own names and values (cublas_api.h, library_types.h of CUDA 12 and 13).
constexpr int kNoTranspose = 0;   // CUBLAS_OP_N
constexpr int kBf16 = 14;         // CUDA_R_16BF
constexpr int kComputeFp32 = 68;  // CUBLAS_COMPUTE_32F
constexpr int kDefaultAlgorithm = -1;
using Create = int (*)(void**);
using SetStream = int (*)(void*, cu::Stream);
using MatrixProduct = int (*)(void*, int, int, int, int, int, const void*, cu::DevicePtr, int, int, cu::DevicePtr, int,
                              int, const void*, cu::DevicePtr, int, int, int, int);

class MatrixWork final : public LayerWork {
 public:
  MatrixWork(Card& card, Bytes tokens, Bytes widest)
      : tokens_(static_cast<int>(tokens)),
        in_(card, tokens * kWidth * 2),
        out_(card, tokens * (widest / kBytesPerColumn) * 2) {
    driver::SymbolResolver found;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
      if (auto opened = driver::open_library(name)) {
        found = *opened;
        break;
      }
    }
    if (!found) stop("cuBLAS (libcublas.so.13 or .12) was not found: name its folder in LD_LIBRARY_PATH");
    const auto create = reinterpret_cast<Create>(found("cublasCreate_v2"));
    set_stream_ = reinterpret_cast<SetStream>(found("cublasSetStream_v2"));
    product_ = reinterpret_cast<MatrixProduct>(found("cublasGemmEx"));
    if (create == nullptr || set_stream_ == nullptr || product_ == nullptr) stop("cuBLAS lacks a function");
    check(create(&handle_), "cublasCreate");
    PinnedWeights input(card, tokens * kWidth * 2);
    Stream stream(card);
    must(card.driver().memcpy_htod_async(in_.address(), input.data(), input.bytes(), stream.get()), "cuMemcpyHtoD");
    stream.synchronize();
  }

  // Column-major, as cuBLAS has it: out (columns x tokens) = weights (columns x width) times in (width x tokens).
  void launch(std::size_t, cu::DevicePtr weights, Bytes bytes, cu::Stream stream) override {
    const int columns = static_cast<int>(bytes / kBytesPerColumn);
    const int width = static_cast<int>(kWidth);
    const float one = 1;
    const float zero = 0;
    if (stream != stream_) check(set_stream_(handle_, stream_ = stream), "cublasSetStream");
    check(product_(handle_, kNoTranspose, kNoTranspose, columns, tokens_, width, &one, weights, kBf16, columns,
                   in_.address(), kBf16, width, &zero, out_.address(), kBf16, columns, kComputeFp32, kDefaultAlgorithm),
          "cublasGemmEx");
  }

 private:
  static void check(int status, const char* call) {
    if (status != 0) stop(std::string(call) + ": status " + std::to_string(status));
  }

  int tokens_;
  DeviceMemory in_;
  DeviceMemory out_;
  void* handle_ = nullptr;  // until the process ends
  cu::Stream stream_ = nullptr;
  SetStream set_stream_ = nullptr;
  MatrixProduct product_ = nullptr;
};

class TimedWork final : public LayerWork {
 public:
  TimedWork(Card& card, std::vector<double> nanoseconds)
      : card_(card), kernels_(must(driver::CheckKernels::load(card.driver()))), nanoseconds_(std::move(nanoseconds)) {}

  void launch(std::size_t index, cu::DevicePtr weights, Bytes bytes, cu::Stream stream) override {
    const auto time = static_cast<std::uint64_t>(std::llround(nanoseconds_[index]));
    must(kernels_.launch_work(card_.driver(), weights, bytes, time, stream), "cuLaunchKernel");
  }

 private:
  Card& card_;
  driver::CheckKernels kernels_;
  std::vector<double> nanoseconds_;
};

}  // namespace

std::unique_ptr<LayerWork> matrix_work(Card& card, Bytes tokens, Bytes widest) {
  return std::make_unique<MatrixWork>(card, tokens, widest);
}

std::unique_ptr<LayerWork> timed_work(Card& card, std::vector<double> nanoseconds) {
  return std::make_unique<TimedWork>(card, std::move(nanoseconds));
}

}  // namespace tidegate::bench
