// Files to the simulated card through the ring: contents, and what happens when something gives way.
#include "src/store/load.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "sim/open_card.h"
#include "src/base/checksum.h"
#include "src/driver/kernels.h"
#include "tests/store/model_files.h"
#include "tests/support/temp_folder.h"

namespace tidegate::store {
namespace {

using testing::HasSubstr;

class Load : public testing::Test {
 protected:
  Load() : card_(std::move(sim::SimCard::open("rtx3050-6g-linux", {}).value())) {
    base::Random random(3);
    content_.resize(300'000);
    for (char& byte : content_) byte = static_cast<char>(random.next());
    std::string header = "{";
    Bytes at = 0;
    for (int i = 0; i < 40; ++i) {  // sizes that are no multiples of anything
      const Bytes size = i == 39 ? content_.size() - at : 7'001 + static_cast<Bytes>(i);
      header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[)" + std::to_string(size) +
                R"(],"data_offsets":[)" + std::to_string(at) + "," + std::to_string(at + size) + "]}";
      at += size;
    }
    header += "}";
    path_ = folder_.write("m.safetensors", test::number(header.size(), 8) + header + content_);
  }

  Result<LoadStats> load(const ModelFile& file, const LoadOptions& options, Bytes cap) {
    destinations_.clear();
    cu::DevicePtr memory = 0;
    EXPECT_EQ(card_->driver().mem_alloc(&memory, 2 * kMiB), cu::kSuccess);
    Bytes at = 0;
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
      destinations_.push_back({i, memory + at});
      at += round_up(file.tensors()[i].bytes, 512);
    }
    PinnedArena arena(card_->driver(), cap);
    auto stats = load_to_card(*card_, arena, file, destinations_, options);
    EXPECT_EQ(arena.held(), 0u);
    EXPECT_LE(arena.peak(), cap);
    EXPECT_EQ(card_->process().stats().pinned, 0u);
    return stats;
  }

  test::TempFolder folder_;
  std::unique_ptr<sim::SimCard> card_;
  std::string content_;
  std::string path_;
  std::vector<Destination> destinations_;
};

TEST_F(Load, BringsEveryByteWhateverTheRing) {
  for (const auto cache : {base::InputFile::Cache::kPage, base::InputFile::Cache::kDirect}) {
    for (const LoadOptions options : {LoadOptions{4096, 1}, LoadOptions{8192, 3}, LoadOptions{kMiB, 2}}) {
      const auto file = open_model(path_, cache);
      ASSERT_TRUE(file.ok()) << file.error().message;
      const auto stats = load(file.value(), options, options.ring_bytes());
      ASSERT_TRUE(stats.ok()) << stats.error().message;
      EXPECT_EQ(stats->bytes, content_.size());
      Bytes at = 0;
      for (std::size_t i = 0; i < destinations_.size(); ++i) {
        const Bytes size = file->tensors()[i].bytes;
        std::string back(size, '-');
        ASSERT_EQ(card_->driver().memcpy_dtoh_async(back.data(), destinations_[i].address, size, nullptr),
                  cu::kSuccess);
        ASSERT_EQ(card_->driver().stream_synchronize(nullptr), cu::kSuccess);
        ASSERT_EQ(back, content_.substr(at, size)) << "tensor " << i << ", pieces of " << options.piece;
        at += size;
      }
    }
  }
  EXPECT_EQ(card_->machine().hazards().total_hits(), 0u) << card_->machine().hazards().text();
}

TEST_F(Load, AFileThatShrinksMeanwhileIsNamedWithItsOffset) {
  const auto file = open_model(path_);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path_, 100'000);
  const auto stats = load(file.value(), {4096, 2}, kMiB);
  ASSERT_FALSE(stats.ok());
  EXPECT_EQ(stats.error().code, Errc::kBadFile);
  EXPECT_THAT(stats.error().message, HasSubstr("m.safetensors: offset 1"));
}

TEST_F(Load, TheArenasCapIsNotPassed) {
  const auto file = open_model(path_);
  ASSERT_TRUE(file.ok());
  const auto stats = load(file.value(), {kMiB, 4}, 8 * kMiB - 1);
  ASSERT_FALSE(stats.ok());
  EXPECT_EQ(stats.error().code, Errc::kHostOutOfMemory);
  EXPECT_THAT(stats.error().message, HasSubstr("of at most 8388607 are in use"));
}

TEST_F(Load, ADriverThatRefusesIsReported) {
  const auto file = open_model(path_);
  ASSERT_TRUE(file.ok());
  card_->process().fail_calls(driver::FunctionId::memcpy_htod_async, cu::kLaunchFailed, 1, 5);
  const auto stats = load(file.value(), {4096, 2}, kMiB);
  ASSERT_FALSE(stats.ok());
  EXPECT_EQ(stats.error().code, Errc::kDriver);
  EXPECT_THAT(stats.error().message, HasSubstr("copying to the card"));
}

}  // namespace
}  // namespace tidegate::store
