// Model files through the built program: every byte checked at each use, and what inspect says of them.
#include <array>
#include <cstdio>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

#if !defined(_WIN32)
#include <sys/wait.h>
#endif

namespace tidegate {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string number(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string content(std::size_t bytes, unsigned seed) {
  std::string out(bytes, '\0');
  std::uint32_t state = seed * 2654435761u + 1;
  for (char& byte : out) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return out;
}

constexpr std::size_t kTensor = 768 * 1024;

std::string shard(unsigned first) {
  std::string header = "{";
  for (unsigned i = 0; i < 8; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(first + i) + R"(":{"dtype":"U8","shape":[786432],)" +
              R"("data_offsets":[)" + std::to_string(i * kTensor) + "," + std::to_string((i + 1) * kTensor) + "]}";
  }
  header += "}";
  return number(header.size(), 8) + header + content(8 * kTensor, first + 1);
}

class ModelFileProgram : public testing::Test {
 protected:
  int run(const std::string& arguments) {
    const std::string command = std::string("'") + TIDEGATE_PROGRAM + "' " + arguments + " 2>&1";
    test::CommandOutcome ran = test::run_command(command);
    out_ = std::move(ran.out);
    return ran.code;
  }
  std::string sharded() {
    nlohmann::json index;
    for (const unsigned first : {0u, 8u}) {
      const std::string name = "shard-" + std::to_string(first) + ".safetensors";
      folder_.write(name, shard(first));
      for (unsigned i = 0; i < 8; ++i) index["weight_map"]["t" + std::to_string(first + i)] = name;
    }
    return folder_.write("m.safetensors.index.json", index.dump());
  }
  std::string gguf() {  // one q8_0 tensor: 34 bytes for 32 elements
    const std::uint64_t elements = 32 * 1024;
    std::string bytes = "GGUF" + number(3, 4) + number(1, 8) + number(0, 8) + number(1, 8) + "w" + number(1, 4) +
                        number(elements, 8) + number(8, 4) + number(0, 8);
    bytes.resize((bytes.size() + 31) / 32 * 32, '\0');
    return folder_.write("m.gguf", bytes + content(elements / 32 * 34, 3));
  }

  test::TempFolder folder_;
  std::string out_;
};

TEST_F(ModelFileProgram, RunsAShardedModelUnderHalfItsBytes) {
  const std::string report = folder_.path("report.json");
  ASSERT_EQ(run("run '" + sharded() + "' --card rtx3050-6g-linux --vram 6MiB --passes 2 -q --report '" + report + "'"),
            0)
      << out_;
  EXPECT_THAT(test::read_file(report), HasSubstr("m.safetensors.index.json"));
}

TEST_F(ModelFileProgram, StreamsAModelThatNoMemoryHolds) {
  const std::string report = folder_.path("report.json");
  ASSERT_EQ(run("run '" + sharded() + "' --card rtx3050-6g-linux --vram 6MiB --passes 3 -q --read stream --ring 2MiB " +
                "--report '" + report + "'"),
            0)
      << out_;
  const auto said = nlohmann::json::parse(test::read_file(report));
  EXPECT_EQ(said["models"][0]["staged_in"], "its file, through a ring of 2.0 MiB of pinned memory");
  EXPECT_EQ(said["content_errors"], 0);
  EXPECT_GT(said["content_checks"], 40);
  EXPECT_EQ(run("run '" + gguf() + "' --card rtx3050-6g-linux --vram 64MiB --read stream --ring 1KiB -q"), 0) << out_;
}

TEST_F(ModelFileProgram, RunsGguf) {
  EXPECT_EQ(run("run '" + gguf() + "' --card rtx3050-6g-linux --vram 64MiB --passes 2 -q"), 0) << out_;
}

TEST_F(ModelFileProgram, RefusesByNameWhatHostMemoryCannotHold) {
  EXPECT_EQ(run("run '" + sharded() + "' --card rtx3050-6g-linux --vram 6MiB -q --host-memory 1MiB"), 1);
  EXPECT_THAT(out_, HasSubstr("page-locked host memory are asked for"));
}

TEST_F(ModelFileProgram, InspectSaysWhatAFileHolds) {
  ASSERT_EQ(run("inspect '" + sharded() + "' --card rtx3050-6g-linux --budget 6MiB 12MiB --json"), 0) << out_;
  const auto said = nlohmann::json::parse(out_);
  EXPECT_EQ(said["bytes"], 16 * kTensor);
  EXPECT_EQ(said["tensors"], 16);
  EXPECT_EQ(said["files"], 2);
  EXPECT_EQ(said["types"][0]["type"], "u8");
  EXPECT_EQ(said["types"][0]["tensors"], 16);
  EXPECT_EQ(said["largest"]["bytes"], kTensor);
  EXPECT_EQ(said["link_kind"], "modelled");
  ASSERT_EQ(said["budgets"].size(), 2u);
  const double rate = said["link_bytes_per_second"];
  EXPECT_DOUBLE_EQ(said["budgets"][0]["bound_plain_seconds"], (16.0 * kTensor - 6 * 1024 * 1024) / rate);
  EXPECT_EQ(said["budgets"][1]["bound_seconds"], 0);
  ASSERT_EQ(run("inspect '" + gguf() + "' --card rtx3050-6g-linux"), 0) << out_;
  EXPECT_THAT(out_, HasSubstr("q8_0"));
}

TEST_F(ModelFileProgram, LoadsThroughASmallRing) {
  ASSERT_EQ(run("load '" + sharded() + "' --card rtx3050-6g-linux --ring 1MiB --readers 3 --check --json"), 0) << out_;
  const auto said = nlohmann::json::parse(out_);
  EXPECT_EQ(said["bytes"], 16 * kTensor);
  EXPECT_LE(said["ring_bytes"], 1 << 20);
  EXPECT_EQ(said["checked"]["tensors"], 16);
  EXPECT_EQ(said["checked"]["wrong"], 0);
  ASSERT_EQ(run("load '" + gguf() + "' --card rtx3050-6g-linux --direct --cold --check"), 0) << out_;
  EXPECT_EQ(run("load '" + gguf() + "' --card rtx3050-6g-linux --ring 4KiB"), 2);
  EXPECT_THAT(out_, HasSubstr("--ring"));
}

TEST_F(ModelFileProgram, AFileThatShrinksIsOneLineInEveryWayOfReading) {
  for (const std::string mode : {"cached", "direct", "mmap", "stream"}) {
    const std::string path = sharded();
    const std::string victim = folder_.path("shard-8.safetensors");
    const std::string command =
        "run '" + path + "' --card rtx3050-6g-linux --vram 6MiB --real-time --passes 100000 --read " + mode + " -q";
    // Cut once the program has the file open, not after a time that a busy machine may need to start it.
    const std::string opened =
        "until ls -l /proc/$PPID/fd /proc/$PPID/map_files 2>/dev/null | grep -q shard-8; do sleep "
        "0.05; kill -0 $PPID || exit; done; ";
    const std::string script = "sh -c '" + opened + "sleep 0.3; truncate -s 100000 \"" + victim +
                               "\"; sleep 1; kill -TERM $PPID' & exec '" + std::string(TIDEGATE_PROGRAM) + "' " +
                               command + " 2>&1";
    const auto [code, out] = test::run_command(script);
    // What was copied to page-locked memory before the cut is safe from the file; a mapping is not.
    const bool safe = mode == "cached" || mode == "direct";
    EXPECT_TRUE(code == 2 || (code == 143 && safe)) << mode << ": " << code << ": " << out;
    if (code == 143) {
      EXPECT_THAT(out, HasSubstr("stopped by SIGTERM")) << "and not ended by it";
    }
    if (code == 2) {
      EXPECT_THAT(out, HasSubstr("shard-8.safetensors: "));
      // Where even that was too early, the header is what does not fit the file any more.
      EXPECT_THAT(out, AnyOf(HasSubstr("truncated meanwhile"), HasSubstr("truncated or wrong")));
    }
  }
}

TEST_F(ModelFileProgram, InspectRefusesInOneLine) {
  EXPECT_EQ(run("inspect '" + folder_.write("a.gguf", "GGUF") + "'"), 2);
  EXPECT_THAT(out_, HasSubstr("a.gguf: offset 4"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1) << out_;
  EXPECT_EQ(run("inspect '" + folder_.write("a.txt", "x") + "'"), 2);
  EXPECT_THAT(out_, HasSubstr("not a safetensors file"));
}

}  // namespace
}  // namespace tidegate
