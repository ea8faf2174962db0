#include <gtest/gtest.h>

#include "sim/open_card.h"
#include "src/base/checksum.h"
#include "src/driver/kernels.h"
#include "tidegate/pager.h"

namespace tidegate {
namespace {

TEST(FirstRun, PagesAModelLargerThanTheBudget) {
  auto card = sim::SimCard::open("rtx3050-6g-linux", {});
  ASSERT_TRUE(card.ok()) << card.error().message;
  driver::Driver& driver = (*card)->driver();
  auto pager = Pager::create(**card, {.budget = 256 * kMiB});
  ASSERT_TRUE(pager.ok()) << pager.error().message;
  constexpr int kBlocks = 60;
  std::vector<std::vector<std::byte>> data;
  ModelSpec spec{.name = "m", .weights = {}};
  base::Random random(7);
  for (int i = 0; i < kBlocks; ++i) {
    data.emplace_back((2 + random.below(8)) * kMiB - 100);
    for (auto& byte : data.back()) byte = static_cast<std::byte>(random.next());
    void* pinned = nullptr;
    ASSERT_EQ(driver.mem_host_alloc(&pinned, data.back().size(), 0), cu::kSuccess);
    std::memcpy(pinned, data.back().data(), data.back().size());
    spec.weights.push_back({"w" + std::to_string(i), data.back().size(), pinned});
  }
  auto model = (*pager)->add_model(spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto kernels = driver::CheckKernels::load(driver);
  ASSERT_TRUE(kernels.ok());
  cu::Stream stream = nullptr;
  ASSERT_EQ(driver.stream_create(&stream, cu::kStreamNonBlocking), cu::kSuccess);
  cu::DevicePtr out = 0;
  ASSERT_EQ(driver.mem_alloc(&out, 8 * kBlocks), cu::kSuccess);
  for (int pass = 0; pass < 4; ++pass) {
    const auto start = (*card)->executor().now();
    (*pager)->begin_pass(*model);
    ASSERT_EQ(driver.memset_d8_async(out, 0, 8 * kBlocks, stream), cu::kSuccess);
    for (int i = 0; i < kBlocks; ++i) {
      const BlockId block = (*pager)->place(*model, static_cast<std::size_t>(i)).block;
      auto lease = (*pager)->lease({&block, 1}, stream);
      ASSERT_TRUE(lease.ok()) << lease.error().message;
      ASSERT_EQ(kernels->launch_checksum(driver, lease->address(0), data[i].size(), out + 8 * i, stream), cu::kSuccess);
      ASSERT_EQ(kernels->launch_work(driver, lease->address(0), data[i].size(), 300000, stream), cu::kSuccess);
      lease->release();
      const auto checked = (*pager)->check_invariants();
      ASSERT_TRUE(checked.ok()) << checked.error().message;
    }
    std::vector<std::uint64_t> sums(kBlocks);
    ASSERT_EQ(driver.memcpy_dtoh_async(sums.data(), out, 8 * kBlocks, stream), cu::kSuccess);
    ASSERT_EQ(driver.stream_synchronize(stream), cu::kSuccess);
    for (int i = 0; i < kBlocks; ++i) EXPECT_EQ(sums[i], base::checksum(data[i].data(), data[i].size())) << i;
    const auto stats = (*pager)->model_stats(*model);
    std::printf("pass %d: %.2f ms, copied %.1f MiB, predicted %.2f ms\n", pass,
                static_cast<double>((*card)->executor().now() - start) / 1e6,
                static_cast<double>(stats.copied) / 1048576.0, stats.predicted_pass_seconds * 1e3);
  }
}

}  // namespace
}  // namespace tidegate
