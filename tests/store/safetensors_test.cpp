#include <cstring>

#include <gmock/gmock.h>

#include "src/store/model_file.h"
#include "tests/support/temp_folder.h"

namespace tidegate::store {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string file_of(const std::string& header, const std::string& data, std::uint64_t length) {
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i) out[static_cast<std::size_t>(i)] = static_cast<char>(length >> (8 * i));
  return out + header + data;
}
std::string file_of(const std::string& header, const std::string& data) { return file_of(header, data, header.size()); }

std::string entry(const char* name, const char* dtype, const char* shape, const char* offsets) {
  return std::string("\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

class Safetensors : public testing::Test {
 protected:
  Result<ModelFile> open(const std::string& bytes) { return open_model(folder_.write("model.safetensors", bytes)); }
  // The error's one line, after a look at what every error must be.
  std::string fault(const std::string& bytes, Errc code = Errc::kBadFile) {
    const auto opened = open(bytes);
    if (opened) return "no error";
    EXPECT_EQ(opened.error().code, code) << opened.error().message;
    EXPECT_THAT(opened.error().message, HasSubstr("model.safetensors"));
    EXPECT_THAT(opened.error().message, Not(HasSubstr("\n")));
    return opened.error().message;
  }
  std::string header_fault(const std::string& header, std::size_t data_bytes = 8) {
    return fault(file_of(header, std::string(data_bytes, 'x')));
  }

  test::TempFolder folder_;
};

TEST_F(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const auto opened = open(file_of("{" + entry("second", "BF16", "[2,1]", "[4,8]") + "," +
                                       entry("first", "F32", "[1]", "[0,4]") + R"(,"__metadata__":{"format":"pt"}}  )",
                                   "abcdefgh"));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ASSERT_EQ(opened->tensors().size(), 2u);
  EXPECT_EQ(opened->tensors()[0].name, "first");
  EXPECT_EQ(opened->tensors()[1].name, "second");
  EXPECT_EQ(opened->tensors()[1].type, "bf16");
  EXPECT_EQ(opened->tensors()[1].shape, (std::vector<std::uint64_t>{2, 1}));
  char bytes[4] = {};
  ASSERT_TRUE(opened->read(opened->tensors()[1], 0, bytes, 4).ok());
  EXPECT_EQ(std::memcmp(bytes, "efgh", 4), 0);
  EXPECT_EQ(opened->metadata().at("format"), "pt");
}

TEST_F(Safetensors, ReadsScalarsAndTensorsWithoutElements) {
  const auto opened =
      open(file_of("{" + entry("scalar", "F64", "[]", "[0,8]") + "," + entry("none", "F32", "[0,7]", "[8,8]") + "," +
                       entry("at_the_front", "F32", "[0]", "[0,0]") + "}",
                   "abcdefgh"));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->tensors()[0].name, "at_the_front");
  EXPECT_EQ(opened->tensors()[1].bytes, 8u);
  EXPECT_EQ(opened->tensors()[2].bytes, 0u);
}

TEST_F(Safetensors, ReadsAFileWithoutTensors) {
  const auto opened = open(file_of("{}", ""));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(opened->tensors().empty());
}

TEST_F(Safetensors, ReadsElementsSmallerThanAByte) {
  const auto opened = open(file_of("{" + entry("a", "F4", "[4]", "[0,2]") + "}", "ab"));
  EXPECT_TRUE(opened.ok());
  EXPECT_THAT(header_fault("{" + entry("a", "F4", "[3]", "[0,2]") + "}", 2), HasSubstr("whole number of bytes"));
}

TEST_F(Safetensors, RefusesWhatIsNoFile) {
  EXPECT_EQ(open_model(folder_.path("missing")).error().code, Errc::kNotFound);
  const auto folder = open_model(folder_.path());
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("directory"));
}

TEST_F(Safetensors, RefusesTruncatedFiles) {
  EXPECT_THAT(fault(""), HasSubstr("0 bytes"));
  EXPECT_THAT(fault("1234567"), HasSubstr("7 bytes"));
  EXPECT_THAT(fault(file_of("{}", "", 3)), HasSubstr("truncated"));
  EXPECT_THAT(header_fault("{" + entry("a", "F32", "[4]", "[0,16]") + "}", 15), HasSubstr("ends at 16"));
}

TEST_F(Safetensors, RefusesAbsurdHeaderLengths) {
  EXPECT_THAT(fault(file_of("{}", "", UINT64_MAX)), HasSubstr("18446744073709551615"));
  EXPECT_THAT(fault(file_of("{}", "", 100'000'001)), HasSubstr("at most 100000000"));
  EXPECT_THAT(fault(file_of("", "", 0)), HasSubstr("does not begin with '{'"));
}

TEST_F(Safetensors, RefusesHeadersThatAreNoJson) {
  EXPECT_THAT(header_fault("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_fault("{} {}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_fault("{\"a\xff\":1}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_fault(" {}"), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(header_fault("{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}"), HasSubstr("nested"));
  EXPECT_THAT(header_fault("{\"a\":1e999}"), HasSubstr("JSON"));
}

TEST_F(Safetensors, RefusesBadEntries) {
  const auto with = [](const char* dtype, const char* shape, const char* offsets) {
    return "{" + entry("t", dtype, shape, offsets) + "}";
  };
  EXPECT_THAT(header_fault(with("F33", "[1]", "[0,8]")), HasSubstr("unknown type 'F33'"));
  EXPECT_THAT(header_fault(with("f32", "[2]", "[0,8]")), HasSubstr("unknown type"));
  EXPECT_THAT(header_fault(with("F32", "[3]", "[0,8]")), HasSubstr("ask for 12 bytes"));
  EXPECT_THAT(header_fault(with("F32", "[-2]", "[0,8]")), HasSubstr("whole number"));
  EXPECT_THAT(header_fault(with("F32", "[2.0]", "[0,8]")), HasSubstr("whole number"));
  EXPECT_THAT(header_fault(with("F32", "2", "[0,8]")), HasSubstr("array"));
  EXPECT_THAT(header_fault(with("F32", "[2]", "[8,0]")), HasSubstr("before it begins"));
  EXPECT_THAT(header_fault(with("F32", "[2]", "[0]")), HasSubstr("two elements"));
  EXPECT_THAT(header_fault(with("F32", "[2]", "[0,8,8]")), HasSubstr("more than 2"));
  EXPECT_THAT(header_fault(with("F32", "[4294967296,4294967296,2]", "[0,8]")), HasSubstr("too many elements"));
  EXPECT_THAT(header_fault(with("F64", "[2305843009213693953]", "[0,8]")), HasSubstr("too many elements"));
  EXPECT_THAT(header_fault(R"({"t":{"dtype":"F32","shape":[2]}})"), HasSubstr("lacks the key 'data_offsets'"));
  EXPECT_THAT(header_fault(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})"), HasSubstr("'x'"));
  EXPECT_THAT(header_fault(R"({"t":7})"), HasSubstr("object"));
  EXPECT_THAT(header_fault(R"({"__metadata__":{"a":1}})"), HasSubstr("__metadata__"));
}

TEST_F(Safetensors, RefusesTheSameNameTwice) {
  EXPECT_THAT(header_fault("{" + entry("t", "F32", "[1]", "[0,4]") + "," + entry("t", "F32", "[1]", "[4,8]") + "}"),
              HasSubstr("twice"));
}

TEST_F(Safetensors, RefusesOverlapsAndHoles) {
  const auto pair = [](const char* first, const char* second) {
    return "{" + entry("a", "F32", "[1]", first) + "," + entry("b", "F32", "[1]", second) + "}";
  };
  EXPECT_THAT(header_fault(pair("[0,4]", "[2,6]")), HasSubstr("inside the one before it"));
  EXPECT_THAT(header_fault(pair("[0,4]", "[0,4]")), HasSubstr("inside the one before it"));
  EXPECT_THAT(header_fault(pair("[0,4]", "[4,8]"), 12), HasSubstr("belong to no tensor"));
  EXPECT_THAT(header_fault(pair("[0,4]", "[5,9]"), 9), HasSubstr("hole"));
  EXPECT_THAT(header_fault(pair("[1,5]", "[5,9]"), 9), HasSubstr("hole"));
}

TEST_F(Safetensors, NamesStayOnOneLineInErrors) {
  EXPECT_THAT(header_fault("{" + entry("a\\nb", "F33", "[1]", "[0,4]") + "}"), HasSubstr("a\\x0ab"));
}

}  // namespace
}  // namespace tidegate::store
