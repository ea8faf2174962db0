#include <iostream>

#include "src/base/executor.h"   // the card's clock; virtual where the card is simulated
#include "src/driver/kernels.h"  // a stream, and a kernel that reads a layer for 1 ms: in real life your CUDA code
#include "tidegate/pager.h"
#include "tidegate/sim.h"
int main() {  // 32 layers of 16 MiB run in half of the memory that they need
  constexpr std::size_t kLayers = 32, kLayer = 16 * tidegate::kMiB;
  auto card = tidegate::open_cuda_card();
  if (!card) card = tidegate::sim::open_card("rtx3050-6g-linux");
  std::cout << (*card)->name() << ((*card)->simulated() ? ", simulated\n" : "\n");
  auto& driver = (*card)->driver();
  const auto kernels = tidegate::driver::CheckKernels::load(driver).value();
  tidegate::cu::Stream stream = nullptr;
  void* host = nullptr;
  if (driver.stream_create(&stream, 0) + driver.mem_host_alloc(&host, kLayers * kLayer, 0) != 0) return 1;
  auto pager = tidegate::Pager::create(**card, {.budget = kLayers * kLayer / 2}).value();
  const auto net = pager->add_model({"net", {kLayers, {"layer", kLayer, host}}}).value();
  for (int pass = 1; pass <= 5; ++pass) {
    const auto start = (*card)->executor().now();
    for (std::size_t i = 0; i < kLayers; ++i) {
      const tidegate::BlockId block = pager->place(net, i).block;
      auto lease = pager->lease({&block, 1}, stream).value();  // resident, or its copy is under way
      kernels.launch_work(driver, lease.address(0), kLayer, 1'000'000, stream);
    }
    driver.stream_synchronize(stream);
    std::cout << "pass " << pass << ": " << ((*card)->executor().now() - start) / 1000
              << " us, copied so far: " << pager->model_stats(net).copied / tidegate::kMiB << " MiB\n";
  }
}
