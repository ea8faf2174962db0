#include "src/store/model_file.h"

#include <filesystem>
#include <random>

#include <gmock/gmock.h>

#include "src/base/input_file.h"
#include "src/base/system_info.h"
#include "tests/store/model_files.h"
#include "tests/support/temp_folder.h"

namespace tidegate::store {
namespace {

using test::gguf_of;
using test::gguf_tensor;
using test::gguf_text;
using test::number;
using test::safetensors_of;
using test::small_gguf;
using testing::HasSubstr;
using testing::Not;

class ModelFiles : public testing::Test {
 protected:
  std::string fault(const std::string& name, const std::string& bytes) { return fault(folder_.write(name, bytes)); }
  static std::string fault(const std::string& path) {
    const auto read = open_model(path);
    if (read) return "no error";
    EXPECT_THAT(read.error().message, Not(HasSubstr("\n")));
    return read.error().message;
  }
  std::string gguf_fault(const std::string& bytes) { return fault("m.gguf", bytes); }
  std::string index(const std::string& map) {
    return folder_.write("m.safetensors.index.json", R"({"metadata":{"total_size":8},"weight_map":)" + map + "}");
  }

  test::TempFolder folder_;
};

TEST_F(ModelFiles, ReadsGgufOfBothVersions) {
  for (const std::uint32_t version : {2u, 3u}) {
    const std::string bytes = small_gguf(version);
    const auto model = open_model(folder_.write("m.gguf", bytes));
    ASSERT_TRUE(model.ok()) << model.error().message;
    ASSERT_EQ(model->tensors().size(), 2u);
    EXPECT_EQ(model->tensors()[0].name, "a");
    EXPECT_EQ(model->tensors()[0].type, "q4_0");
    EXPECT_EQ(model->tensors()[0].bytes, 72u);
    EXPECT_EQ(model->tensors()[0].offset, bytes.size() - 112);
    EXPECT_EQ(model->tensors()[1].bytes, 16u);
    EXPECT_EQ(model->tensors()[1].offset, bytes.size() - 16);
  }
}

TEST_F(ModelFiles, RefusesGgufTruncatedAnywhere) {
  const std::string bytes = small_gguf();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(gguf_fault(bytes.substr(0, length)), HasSubstr("m.gguf: ")) << length;
  }
}

TEST_F(ModelFiles, RefusesHostileGguf) {
  EXPECT_THAT(gguf_fault("GGUX" + std::string(40, '\0')), HasSubstr("m.gguf: "));
  EXPECT_THAT(gguf_fault(gguf_of(0, 0, "", 0, 1)), HasSubstr("offset 4: GGUF version 1"));
  EXPECT_THAT(gguf_fault(gguf_of(UINT64_MAX, 0, "", 0)), HasSubstr("offset 8: 18446744073709551615 tensors"));
  EXPECT_THAT(gguf_fault(gguf_of(0, UINT64_MAX, "", 0)), HasSubstr("offset 16"));
  const std::string array = gguf_text("k") + number(9, 4);
  EXPECT_THAT(gguf_fault(gguf_of(0, 1, array + number(10, 4) + number(UINT64_MAX / 8 + 2, 8), 64)),
              HasSubstr("array of"));
  std::string deep = array;
  for (int i = 0; i < 9; ++i) deep += number(9, 4) + number(1, 8);
  EXPECT_THAT(gguf_fault(gguf_of(0, 1, deep, 64)), HasSubstr("more than 4 deep"));
  EXPECT_THAT(gguf_fault(gguf_of(0, 1, gguf_text("k") + number(13, 4), 64)), HasSubstr("unknown type 13"));
  const auto aligned = [&](std::uint64_t to) { return gguf_text("general.alignment") + number(4, 4) + number(to, 4); };
  EXPECT_THAT(gguf_fault(gguf_of(0, 1, aligned(0), 64)), HasSubstr("multiple of 8"));
  const std::string entry = gguf_text("k") + number(0, 4) + "x";
  EXPECT_THAT(gguf_fault(gguf_of(0, 2, entry + entry, 64)), HasSubstr("twice"));
}

TEST_F(ModelFiles, RefusesHostileGgufTensors) {
  const auto one = [&](const std::string& tensor) { return gguf_fault(gguf_of(1, 0, tensor, 64)); };
  EXPECT_THAT(one(gguf_tensor("t", {1, 1, 1, 1, 1}, 0, 0)), HasSubstr("5 dimensions"));
  EXPECT_THAT(one(gguf_tensor("t", {4}, 4, 0)), HasSubstr("unknown type 4"));
  EXPECT_THAT(one(gguf_tensor("t", {33}, 2, 0)), HasSubstr("whole blocks"));
  EXPECT_THAT(one(gguf_tensor("t", {1ull << 40, 1ull << 40}, 0, 0)), HasSubstr("too many elements"));
  EXPECT_THAT(one(gguf_tensor("t", {4}, 0, 3)), HasSubstr("not aligned"));
  EXPECT_THAT(one(gguf_tensor("t", {17}, 0, 0)), HasSubstr("truncated"));
  EXPECT_THAT(one(gguf_tensor("t", {4}, 0, UINT64_MAX - 31)), HasSubstr("truncated"));
  const std::string a = gguf_tensor("a", {16}, 0, 0);
  EXPECT_THAT(gguf_fault(gguf_of(2, 0, a + a, 128)), HasSubstr("twice"));
  EXPECT_THAT(gguf_fault(gguf_of(2, 0, a + gguf_tensor("b", {4}, 0, 32), 128)), HasSubstr("inside tensor"));
}

TEST_F(ModelFiles, ReadsShards) {
  folder_.write("1.safetensors", safetensors_of({"a", "b"}));
  folder_.write("2.safetensors", safetensors_of({"c"}));
  const auto model = open_model(index(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors"})"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->files().size(), 2u);
  EXPECT_EQ(model->files()[1].path(), folder_.path("2.safetensors"));
  ASSERT_EQ(model->tensors().size(), 3u);
  EXPECT_EQ(model->tensors()[2].file, 1u);
}

TEST_F(ModelFiles, HoldsTheIndexAgainstItsShards) {
  folder_.write("1.safetensors", safetensors_of({"a"}));
  folder_.write("2.safetensors", safetensors_of({"b"}));
  folder_.write("3.safetensors", safetensors_of({"a", "c"}));
  EXPECT_THAT(fault(index(R"({"a":"9.safetensors"})")), HasSubstr("9.safetensors: No such file"));
  EXPECT_THAT(fault(index(R"({"a":"2.safetensors","b":"1.safetensors"})")), HasSubstr("the index says"));
  EXPECT_THAT(fault(index(R"({"a":"1.safetensors","z":"1.safetensors"})")),
              HasSubstr("'z' is in the index, but not here"));
  EXPECT_THAT(fault(index(R"({"a":"1.safetensors","c":"3.safetensors"})")), HasSubstr("the index says"));
  EXPECT_THAT(fault(index(R"({"a":"1.safetensors","a":"1.safetensors"})")), HasSubstr("twice"));
  EXPECT_THAT(fault(index(R"({"c":"3.safetensors"})")), HasSubstr("is not in the index"));
  for (const char* name : {"../1.safetensors", "/1.safetensors", "..", "a\\\\b"}) {
    EXPECT_THAT(fault(index(R"({"a":")" + std::string(name) + "\"}")), HasSubstr("beside the index")) << name;
  }
  EXPECT_THAT(fault("e.safetensors.index.json", "{\"weight_map\""), HasSubstr("not valid JSON"));
  EXPECT_THAT(fault("e.safetensors.index.json", "{}"), HasSubstr("weight_map"));
  EXPECT_THAT(fault("e.safetensors.index.json", ""), HasSubstr("0 bytes"));
}

TEST_F(ModelFiles, AFileThatShrinksIsAnErrorWithItsOffset) {
  const std::string path = folder_.write("s.bin", std::string(10'000, 'x'));
  const auto file = base::InputFile::open(path);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path, 5'000);
  std::vector<std::byte> to(2'000);
  const auto read = file->read(4'000, to.data(), to.size());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kBadFile);
  EXPECT_THAT(read.error().message, HasSubstr("s.bin: offset 5000: the file ends here, it was longer"));
}

TEST_F(ModelFiles, JoinsTensorsOfTheSameBytes) {
  const std::string tied = gguf_of(2, 0, gguf_tensor("a", {16}, 0, 0) + gguf_tensor("b", {16}, 0, 0), 64);
  const auto model = open_model(folder_.write("m.gguf", tied));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->tensors()[1].same_as, 0u);
  EXPECT_EQ(model->bytes(), 64u);
}

TEST_F(ModelFiles, RefusesTextsThatAreNotUtf8) {
  EXPECT_THAT(gguf_fault(gguf_of(0, 1, gguf_text("k\xff") + number(0, 4) + "x", 64)), HasSubstr("not UTF-8"));
  EXPECT_THAT(gguf_fault(gguf_of(1, 0, gguf_tensor("t\xc3", {4}, 0, 0), 64)), HasSubstr("not UTF-8"));
}

// Nothing is allocated for what a header claims: reading takes no more memory than the file's own size and a little.
TEST_F(ModelFiles, BelievesNoClaimBeforeItIsChecked) {
  const std::string claims[] = {gguf_of(1ull << 40, 1ull << 40, "", 64),
                                gguf_of(0, 1, gguf_text("k") + number(8, 4) + number(1ull << 50, 8), 64),
                                gguf_of(0, 1, gguf_text("k") + number(9, 4) + number(8, 4) + number(1ull << 50, 8), 64),
                                number(10ull << 30, 8) + "{}", number(99'999'999, 8) + "{}"};
  const Bytes before = base::peak_resident_bytes();
  for (const std::string& claim : claims) EXPECT_NE(fault("claim", claim), "no error");
  EXPECT_LE(base::peak_resident_bytes() - before, 8 * kMiB);
}

// Whatever is done to a valid file: an error of one line, or ranges that lie inside their files.
TEST_F(ModelFiles, SurvivesMutation) {
  folder_.write("1.safetensors", safetensors_of({"a", "b"}));
  const std::vector<std::pair<std::string, std::string>> valid{
      {"m.safetensors", safetensors_of({"a", "b", "c"})},
      {"m.safetensors.index.json", R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors"}})"},
      {"m.gguf", small_gguf()}};
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    auto [name, bytes] = valid[seed % valid.size()];
    for (std::uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto model = open_model(folder_.write(name, bytes));
    if (!model) {
      ++refused;
      EXPECT_THAT(model.error().message, Not(HasSubstr("\n"))) << "seed " << seed;
      continue;
    }
    for (const StoredTensor& tensor : model->tensors()) {
      const Bytes size = model->files()[tensor.file].size();
      EXPECT_TRUE(tensor.offset <= size && tensor.bytes <= size - tensor.offset) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tidegate::store
