// What the bytes on the card are: real ones, repeated ones, tags; moved by copies, summed by the checksum.
#include "sim/content.h"

#include "src/base/checksum.h"
#include "tests/sim/sim_fixture.h"

#if defined(__unix__)
#include <sys/mman.h>
#endif

namespace tidegate::sim {
namespace {

class SimContent : public SimTest {
 protected:
  static std::vector<unsigned char> seeded(Bytes bytes, std::uint64_t seed) {
    base::Random random(seed);
    std::vector<unsigned char> made(bytes);
    for (unsigned char& byte : made) byte = static_cast<unsigned char>(random.next());
    return made;
  }
  void upload(cu::DevicePtr at, const void* host, Bytes bytes) {
    const cu::Stream on = stream();
    ASSERT_OK(cuda().memcpy_htod_async(at, host, bytes, on));
    ASSERT_OK(cuda().stream_synchronize(on));
  }
  std::uint64_t checksum(cu::DevicePtr at, Bytes bytes) { return device_checksum(at, bytes, stream()); }
};

TEST_F(SimContent, RealBytesSumAsOnTheHost) {
  const cu::DevicePtr va = arena(2 * kMiB, 3);
  const auto bytes = seeded(3 * kMiB + 13, 1);
  for (const Bytes offset :
       {Bytes{0}, Bytes{8}, 2 * kMiB - 1000, 2 * kMiB - 1001}) {  // across borders, unaligned ones too
    upload(va + offset, bytes.data(), bytes.size());
    const std::uint64_t expected = base::checksum(bytes.data(), bytes.size());
    EXPECT_EQ(checksum(va + offset, bytes.size()), expected);
    EXPECT_EQ(machine_.expected_checksum(bytes.data(), bytes.size()), expected);
  }
  EXPECT_EQ(machine_.hazards().total_hits(), 0u);
}

TEST_F(SimContent, RepeatedBytesSumAsWritten) {
  const cu::DevicePtr va = arena(2 * kMiB, 2);
  const cu::Stream on = stream();
  ASSERT_OK(cuda().memset_d8_async(va, 0xA5, 3 * kMiB, on));
  ASSERT_OK(cuda().memset_d8_async(va + 1001, 0x17, 1003, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  std::vector<unsigned char> same(3 * kMiB, 0xA5);
  std::fill_n(same.begin() + 1001, 1003, static_cast<unsigned char>(0x17));
  EXPECT_EQ(checksum(va, 3 * kMiB), base::checksum(same.data(), same.size()));
}

TEST_F(SimContent, TagsCrossFramesUnchanged) {
  const std::vector<unsigned char> stand_in(5 * kMiB);
  ASSERT_TRUE(machine_.declare_tagged_host(stand_in.data(), stand_in.size(), 42));
  const std::uint64_t expected = machine_.expected_checksum(stand_in.data(), stand_in.size());
  const cu::DevicePtr small = arena(2 * kMiB, 4);
  const cu::DevicePtr large = arena(8 * kMiB, 1);
  upload(small + 512 * kKiB, stand_in.data(), stand_in.size());
  upload(large + kMiB, stand_in.data(), stand_in.size());
  EXPECT_EQ(checksum(small + 512 * kKiB, stand_in.size()), expected);
  EXPECT_EQ(checksum(large + kMiB, stand_in.size()), expected);
  // In parts, too: what counts is what lies there.
  const cu::DevicePtr parts = arena(2 * kMiB, 4);
  upload(parts + 3 * kMiB, stand_in.data() + 3 * kMiB, 2 * kMiB);
  upload(parts, stand_in.data(), 3 * kMiB);
  EXPECT_EQ(checksum(parts, stand_in.size()), expected);
  expect_clean();
}

TEST_F(SimContent, MisplacedTagsShow) {
  const std::vector<unsigned char> stand_in(2 * kMiB);
  ASSERT_TRUE(machine_.declare_tagged_host(stand_in.data(), kMiB, 1));
  ASSERT_TRUE(machine_.declare_tagged_host(stand_in.data() + kMiB, kMiB, 2));
  const std::uint64_t expected = machine_.expected_checksum(stand_in.data(), 2 * kMiB);
  const cu::DevicePtr va = arena(2 * kMiB, 1);
  upload(va, stand_in.data(), 2 * kMiB);
  EXPECT_EQ(checksum(va, 2 * kMiB), expected);
  upload(va, stand_in.data() + 512, 512);  // one sector from the wrong place
  EXPECT_NE(checksum(va, 2 * kMiB), expected);
  upload(va, stand_in.data(), 512);
  EXPECT_EQ(checksum(va, 2 * kMiB), expected);
  upload(va + 512, stand_in.data() + kMiB + 512, 512);  // of the wrong tag
  EXPECT_NE(checksum(va, 2 * kMiB), expected);
}

TEST_F(SimContent, DeclaredMemoryMayHoldRealParts) {
  std::vector<unsigned char> host = seeded(64 * kKiB, 3);
  ASSERT_TRUE(machine_.declare_tagged_host(host.data(), host.size(), 9, {{100, 50}, {1000, 3000}, {60'000, 5536}}));
  const cu::DevicePtr va = arena(2 * kMiB, 1);
  upload(va, host.data(), host.size());
  const std::uint64_t expected = machine_.expected_checksum(host.data(), host.size());
  EXPECT_EQ(checksum(va, host.size()), expected);
  unsigned char* back = pinned(3000);
  const cu::Stream on = stream();
  ASSERT_OK(cuda().memcpy_dtoh_async(back, va + 1000, 3000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(std::memcmp(back, host.data() + 1000, 3000), 0);
  expect_clean();
  host[2000] ^= 1;  // real bytes count
  EXPECT_NE(machine_.expected_checksum(host.data(), host.size()), expected);
  host[2000] ^= 1;
  host[500] ^= 1;  // tagged ones are never looked at
  EXPECT_EQ(machine_.expected_checksum(host.data(), host.size()), expected);
}

TEST_F(SimContent, DeclarationsAreChecked) {
  const std::vector<unsigned char> host(4096);
  EXPECT_FALSE(machine_.declare_tagged_host(host.data(), 0, 1));
  EXPECT_FALSE(machine_.declare_tagged_host(host.data(), 4096, 1, {{4000, 97}}));
  EXPECT_FALSE(machine_.declare_tagged_host(host.data(), 4096, 1, {{100, 10}, {105, 10}}));
  EXPECT_FALSE(machine_.declare_tagged_host(host.data(), 4096, 1, {{100, 0}}));
  EXPECT_TRUE(machine_.declare_tagged_host(host.data(), 2048, 1));
  EXPECT_FALSE(machine_.declare_tagged_host(host.data() + 2047, 100, 1));
  EXPECT_TRUE(machine_.declare_tagged_host(host.data() + 2048, 100, 1));
  EXPECT_FALSE(machine_.undeclare_host(host.data() + 1));
  EXPECT_TRUE(machine_.undeclare_host(host.data()));
  EXPECT_FALSE(machine_.undeclare_host(host.data()));
}

TEST_F(SimContent, UnpinnedDeclarationsCopyAtThePageableRate) {
  const std::vector<unsigned char> slow(1000);
  const std::vector<unsigned char> fast(1000);
  ASSERT_TRUE(machine_.declare_tagged_host(slow.data(), 1000, 1, {}, false));
  ASSERT_TRUE(machine_.declare_tagged_host(fast.data(), 1000, 1, {}, true));
  const cu::DevicePtr va = arena(2 * kMiB, 1);
  const cu::Stream on = stream();
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(va, slow.data(), 1000, on));
  EXPECT_EQ(now() - start, 1000 + 2000);
  ASSERT_OK(cuda().memcpy_htod_async(va, fast.data(), 1000, on));
  EXPECT_EQ(now() - start, 3000);
}

TEST_F(SimContent, MovesOnTheCardKeepWhatTheyMove) {
  const std::vector<unsigned char> stand_in(3 * kMiB);
  ASSERT_TRUE(machine_.declare_tagged_host(stand_in.data(), stand_in.size(), 77, {{kMiB + 8, 1000}}));
  const std::uint64_t expected = machine_.expected_checksum(stand_in.data(), stand_in.size());
  const cu::DevicePtr va = arena(2 * kMiB, 6);
  const cu::Stream on = stream();
  ASSERT_OK(cuda().memcpy_htod_async(va + 512, stand_in.data(), stand_in.size(), on));
  ASSERT_OK(cuda().memcpy_dtod_async(va + 5 * kMiB + 1024, va + 512, stand_in.size(), on));
  ASSERT_OK(cuda().memset_d8_async(va, 0, 4 * kMiB, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(checksum(va + 5 * kMiB + 1024, stand_in.size()), expected);
  EXPECT_NE(checksum(va + 512, stand_in.size()), expected);
}

// The effects of a copy show when it ends; kernels see what was there when they started.
TEST_F(SimContent, EffectsComeInTheOrderOfTheTimeline) {
  const cu::DevicePtr va = memory(2 * kMiB);
  const cu::DevicePtr out = memory(8);
  const cu::Stream on = stream();
  const auto first = seeded(kMiB, 4);
  const auto second = seeded(kMiB, 5);
  unsigned char* host = pinned(kMiB);
  upload(va, first.data(), kMiB);
  ASSERT_OK(cuda().memset_d8_async(out, 0, 8, on));
  ASSERT_OK(kernels().launch_checksum(cuda(), va, kMiB, out, on));
  std::memcpy(host, second.data(), kMiB);
  ASSERT_OK(cuda().memcpy_htod_async(va, host, kMiB, on));
  ASSERT_OK(kernels().launch_checksum(cuda(), va, kMiB, out, on));
  std::uint64_t sum = 0;
  ASSERT_OK(cuda().memcpy_dtoh_async(&sum, out, 8, on));
  EXPECT_EQ(sum, base::checksum(first.data(), kMiB) + base::checksum(second.data(), kMiB));
}

#if defined(__unix__)
TEST_F(SimContent, TaggedAddressSpaceIsNeverRead) {
  const Bytes size = Bytes{64} << 30;
  void* space = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(space, MAP_FAILED);
  ASSERT_TRUE(machine_.declare_tagged_host(space, size, 3));
  const cu::DevicePtr va = arena(64 * kMiB, 2);
  const auto* from = static_cast<const unsigned char*>(space) + (Bytes{40} << 30);
  upload(va, from, 128 * kMiB);
  EXPECT_EQ(checksum(va, 128 * kMiB), machine_.expected_checksum(from, 128 * kMiB));
  expect_clean();
  munmap(space, size);
}
#endif

TEST(IntervalMap, SplitsAndMerges) {
  IntervalMap<int> map(100, 0);
  const auto text = [&] {
    std::string all;
    map.for_each(0, 100, [&](Bytes begin, Bytes end, int value) {
      all += std::to_string(begin) + "-" + std::to_string(end) + ":" + std::to_string(value) + " ";
    });
    return all;
  };
  map.assign(10, 20, 1);
  map.assign(30, 40, 2);
  EXPECT_EQ(text(), "0-10:0 10-20:1 20-30:0 30-40:2 40-100:0 ");
  map.assign(15, 35, 3);
  EXPECT_EQ(text(), "0-10:0 10-15:1 15-35:3 35-40:2 40-100:0 ");
  map.update(12, 38, [](Bytes, Bytes, int& value) { value = 9; });
  EXPECT_EQ(text(), "0-10:0 10-12:1 12-38:9 38-40:2 40-100:0 ");
  map.assign(0, 100, 0);
  EXPECT_EQ(text(), "0-100:0 ");
  map.assign(99, 100, 5);
  map.assign(0, 1, 5);
  EXPECT_EQ(text(), "0-1:5 1-99:0 99-100:5 ");
  EXPECT_EQ(map.run_count(), 3u);
}

}  // namespace
}  // namespace tidegate::sim
