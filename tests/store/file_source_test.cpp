// A model file as the pager's source: its ring, and what happens when something gives way.
#include "src/store/file_source.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "sim/open_card.h"
#include "src/base/checksum.h"
#include "tests/store/model_files.h"
#include "tests/support/temp_folder.h"

namespace tidegate::store {
namespace {

using testing::HasSubstr;
using Supply = WeightSource::Supply;

constexpr Bytes kWeight = 20'000;  // no multiple of a page: each takes 6 pages of the ring at most

class Source : public testing::Test {
 protected:
  Source() : card_(std::move(sim::SimCard::open("rtx3050-6g-linux", {}).value())), arena_(card_->driver(), kMiB) {
    base::Random random(3);
    content_.resize(10 * kWeight);
    for (char& byte : content_) byte = static_cast<char>(random.next());
    std::string header = "{";
    for (Bytes i = 0; i < 10; ++i) {
      header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[20000],"data_offsets":[)" +
                std::to_string(i * kWeight) + "," + std::to_string((i + 1) * kWeight) + "]}";
    }
    header += "}";
    path_ = folder_.write("m.safetensors", test::number(header.size(), 8) + header + content_);
  }
  void open(Bytes ring, base::InputFile::Cache cache = base::InputFile::Cache::kDirect) {
    file_ = std::make_shared<const ModelFile>(open_model(path_, cache).value());
    std::vector<FileExtent> extents;
    for (const StoredTensor& tensor : file_->tensors()) extents.push_back({tensor.file, tensor.offset, tensor.bytes});
    auto made = FileSource::create(*card_, arena_, file_, extents, {.ring = ring, .piece = 4096, .readers = 2});
    ASSERT_TRUE(made.ok()) << made.error().message;
    source_ = std::move(made).value();
    source_->connect([this] { card_->executor().notify_all(ready_); });
  }
  // Until something else than kComing.
  Result<Supply> want(std::size_t weight, bool now) {
    auto supply = source_->want(weight, now);
    mutex_.lock();
    while (supply && supply.value() == Supply::kComing) {
      card_->executor().wait(mutex_, ready_, card_->executor().now() + base::kMillisecond);
      mutex_.unlock();
      supply = source_->want(weight, now);
      mutex_.lock();
    }
    mutex_.unlock();
    return supply;
  }
  void expect_content(std::size_t weight) {
    const auto* bytes = reinterpret_cast<const char*>(source_->take(weight));
    EXPECT_EQ(std::string(bytes, kWeight), content_.substr(weight * kWeight, kWeight)) << weight;
    source_->done(weight);
  }

  test::TempFolder folder_;
  std::unique_ptr<sim::SimCard> card_;
  PinnedArena arena_;
  std::string content_;
  std::string path_;
  std::shared_ptr<const ModelFile> file_;
  std::shared_ptr<FileSource> source_;
  base::Mutex mutex_;
  base::WaitPoint ready_;
};

TEST_F(Source, GivesEveryByteWhateverTheRing) {
  for (const auto cache : {base::InputFile::Cache::kPage, base::InputFile::Cache::kDirect}) {
    for (const Bytes ring : {Bytes{1}, Bytes{50'000}, Bytes{400'000}}) {
      open(ring, cache);
      EXPECT_EQ(arena_.held(), source_->ring_bytes());
      for (std::size_t i = 0; i < 30; ++i) {
        const std::size_t weight = i * 7 % 10;
        const auto supply = want(weight, true);
        ASSERT_TRUE(supply.ok()) << supply.error().message;
        ASSERT_EQ(supply.value(), Supply::kReady);
        expect_content(weight);
      }
      std::string small(kWeight, '-');
      ASSERT_TRUE(source_->read(3, small.data()).ok());
      EXPECT_EQ(small, content_.substr(3 * kWeight, kWeight));
      source_.reset();
      EXPECT_EQ(arena_.held(), 0u);
    }
  }
}

TEST_F(Source, ReadingAheadStopsAtTheRingAndGivesWayToWhoWaits) {
  open(50'000);  // two weights
  ASSERT_EQ(want(0, false).value(), Supply::kReady);
  ASSERT_EQ(want(1, false).value(), Supply::kReady);
  EXPECT_EQ(source_->want(2, false).value(), Supply::kFull);
  ASSERT_EQ(want(2, true).value(), Supply::kReady);
  expect_content(2);
  // One of the others made room; what is being copied does not.
  const bool first_went = source_->want(0, false).value() == Supply::kComing;
  ASSERT_EQ(want(0, false).value(), Supply::kReady);
  if (!first_went) {
    ASSERT_EQ(want(1, false).value(), Supply::kReady);
  }
  const std::byte* bytes = source_->take(0);
  ASSERT_EQ(want(5, true).value(), Supply::kReady);
  (void)source_->take(5);
  EXPECT_EQ(source_->want(6, true).value(), Supply::kFull);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes), kWeight), content_.substr(0, kWeight));
  source_->done(5);
  ASSERT_EQ(want(6, true).value(), Supply::kReady);
  source_->done(0);
  expect_content(6);
}

TEST_F(Source, ManyUsersShareOnePlace) {
  open(50'000);
  ASSERT_EQ(want(4, false).value(), Supply::kReady);
  const std::byte* first = source_->take(4);
  EXPECT_EQ(source_->take(4), first);
  source_->done(4);
  EXPECT_EQ(source_->want(4, false).value(), Supply::kReady);
  expect_content(4);  // the last user is still there
  EXPECT_EQ(source_->take(4), first);
  source_->done(4);
  source_->done(4);
}

TEST_F(Source, AFileThatShrinksIsNamedWithItsOffsetAndTriedAgain) {
  open(50'000, base::InputFile::Cache::kPage);
  std::filesystem::resize_file(path_, 100'000);
  const auto supply = want(8, true);
  ASSERT_FALSE(supply.ok());
  EXPECT_EQ(supply.error().code, Errc::kBadFile);
  EXPECT_THAT(supply.error().message, HasSubstr("m.safetensors: offset "));
  ASSERT_EQ(want(1, true).value(), Supply::kReady);
  expect_content(1);
  folder_.write("m.safetensors", test::number(0, 8) + std::string(content_.size() + 4096, 'x'));
  EXPECT_EQ(want(8, true).value(), Supply::kReady);
}

TEST_F(Source, WhatLiesOutsideOfTheFileIsRefused) {
  file_ = std::make_shared<const ModelFile>(open_model(path_).value());
  for (const FileExtent extent :
       {FileExtent{1, 0, 1}, FileExtent{0, 0, kMiB}, FileExtent{0, ~Bytes{0}, 2}, FileExtent{0, 5, ~Bytes{0}}}) {
    EXPECT_FALSE(FileSource::create(*card_, arena_, file_, {extent}, {}).ok());
  }
  EXPECT_EQ(arena_.held(), 0u);
}

TEST_F(Source, TheArenasCapIsNotPassed) {
  file_ = std::make_shared<const ModelFile>(open_model(path_).value());
  const auto made = FileSource::create(*card_, arena_, file_, {{0, 0, 100}}, {.ring = 2 * kMiB});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Errc::kHostOutOfMemory);
}

}  // namespace
}  // namespace tidegate::store
