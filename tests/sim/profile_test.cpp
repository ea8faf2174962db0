// Profiles: the three that are built in, and every way to get one wrong.
#include <cstdio>
#include <fstream>

#include "sim/embedded_profiles.h"
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

std::string text_of(const std::string& name) {
  for (const EmbeddedProfile& profile : embedded_profiles()) {
    if (profile.name == name) return std::string(profile.json);
  }
  return {};
}

// The h200 profile with one piece of its text replaced.
Result<Profile> changed(const std::string& from, const std::string& to) {
  std::string text = text_of("h200-linux");
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return parse_profile(text, "test.json");
}

void expect_error(const Result<Profile>& result, const std::string& message) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::kBadFile);
  EXPECT_EQ(result.error().message, message);
}

TEST(SimProfile, BuiltInOnesLoad) {
  for (const EmbeddedProfile& embedded : embedded_profiles()) {
    const Result<Profile> loaded = load_profile(std::string(embedded.name));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded->name, embedded.name);
  }
  const Profile h200 = load_profile("h200-linux").value();
  EXPECT_EQ(h200.total, 143'771 * kMiB);
  EXPECT_EQ(h200.cuda_total(), 143'156 * kMiB);
  EXPECT_EQ(h200.context, 524 * kMiB);
  EXPECT_EQ(load_profile("rtx3090-24g-linux")->cuda_total(), 24'122 * kMiB);
  EXPECT_EQ(load_profile("rtx3050-6g-linux")->total, 6 * kGiB);
  EXPECT_EQ(load_profile("rtx3050-6g-linux")->h2d_gb_per_s, 12.0);
}

TEST(SimProfile, FilesLoadByTheirPath) {
  const std::string path = testing::TempDir() + "tidegate_profile_test.json";
  std::ofstream(path) << text_of("h200-linux");
  const Result<Profile> loaded = load_profile(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->name, "h200-linux");
  std::ofstream(path) << "{";
  expect_error(load_profile(path), path + ": is not valid JSON");
  std::remove(path.c_str());
}

TEST(SimProfile, UnknownNamesListTheKnownOnes) {
  const Result<Profile> result = load_profile("rtx9090");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::kNotFound);
  EXPECT_NE(result.error().message.find("rtx9090: neither a file nor a card profile"), std::string::npos);
  EXPECT_NE(result.error().message.find("h200-linux"), std::string::npos);
}

TEST(SimProfile, ErrorsNameFileAndKey) {
  expect_error(changed("\"total_mib\": 143771", "\"total_mib\": -1"),
               "test.json: \"memory.total_mib\" is -1, outside 64.0 ... 16777216.0");
  expect_error(changed("\"total_mib\": 143771", "\"total_mib\": 1.5"),
               "test.json: \"memory.total_mib\" must be an integer");
  expect_error(changed("\"total_mib\": 143771", "\"total_mb\": 143771"), "test.json: \"memory.total_mib\" is missing");
  expect_error(changed("\"total_mib\": 143771", "\"total_mib\": 143771, \"spare_mib\": 1"),
               "test.json: \"memory.spare_mib\" is not a key of a profile");
  expect_error(changed("\"reserved_mib\": 615", "\"reserved_mib\": 143700"),
               "test.json: \"memory.reserved_mib\" and a context leave nothing of total_mib");
  expect_error(changed("\"granularity_kib\": 2048", "\"granularity_kib\": 2040"),
               "test.json: \"memory.granularity_kib\" must be a power of two");
  expect_error(changed("\"h2d_gb_per_s\": 55.2", "\"h2d_gb_per_s\": 0"),
               "test.json: \"link.h2d_gb_per_s\" is 0, outside 0.01 ... 100000.0");
  expect_error(changed("\"h2d_gb_per_s\": 55.2", "\"h2d_gb_per_s\": \"fast\""),
               "test.json: \"link.h2d_gb_per_s\" must be a number");
  expect_error(changed("\"personality\": \"linux\"", "\"personality\": \"plan9\""),
               "test.json: \"personality\" must be \"linux\", \"wddm\", \"mcdm\" or \"tcc\"");
  expect_error(changed("\"format\": 1", "\"format\": 2"), "test.json: \"format\" must be 1");
  expect_error(changed("\"mem_create\"", "\"mem_kreate\""),
               "test.json: \"host_api.calls.mem_kreate\" is no function of the driver's table");
  expect_error(changed("\"name\": \"NVIDIA H200\"", "\"name\": 5"), "test.json: \"device.name\" must be a text");
  expect_error(changed("\"assumed\": [\"pageable_d2h_gb_per_s\"]", "\"assumed\": [\"speed\"]"),
               "test.json: \"link.assumed\" names \"speed\", which is not there");
  expect_error(parse_profile("[]", "test.json"), "test.json: the profile must be an object");
}

TEST(SimProfile, AFileHoldsOnlyWhatDiffers) {
  const std::string own = R"({"extends": "rtx4060ti-16g-wddm", "name": "mine", "memory": {"total_mib": 12288},
                              "rules": {"W-31": false, "A.4": false}, "faults": {"out_of_memory_probability": 0.25}})";
  const Result<Profile> mine = parse_profile(own, "mine.json");
  ASSERT_TRUE(mine.ok()) << mine.error().message;
  const Profile base = load_profile("rtx4060ti-16g-wddm").value();
  EXPECT_EQ(mine->name, "mine");
  EXPECT_EQ(mine->total, 12 * kGiB);
  EXPECT_EQ(mine->reserved, base.reserved);
  EXPECT_EQ(mine->wddm.bias_repartition, base.wddm.bias_repartition);
  EXPECT_LT(mine->wddm.budget_idle, base.wddm.budget_idle);  // a part of the card
  EXPECT_EQ(mine->out_of_memory_probability, 0.25);
  EXPECT_FALSE(mine->rules.on(31));
  EXPECT_FALSE(mine->rules.on(kRuleA4));
  EXPECT_TRUE(mine->rules.on(32));
}

TEST(SimProfile, LayersThatAreWrong) {
  expect_error(parse_profile(R"({"extends": "rtx4060ti-16g-wddm", "memory": {"total_mib": "x"}})", "mine.json"),
               "mine.json: \"memory.total_mib\" must be an integer");
  expect_error(parse_profile(R"({"extends": "rtx4060ti-16g-wddm", "rules": {"W-99": false}})", "mine.json"),
               "mine.json: \"rules.W-99\" is no rule (tidegate sim rules lists them)");
  expect_error(parse_profile(R"({"extends": "rtx4060ti-16g-wddm", "rules": {"W-9": 0}})", "mine.json"),
               "mine.json: \"rules.W-9\" must be true or false");
  expect_error(parse_profile(R"({"extends": 7})", "mine.json"), "mine.json: \"extends\" must be a text");
  EXPECT_EQ(parse_profile(R"({"extends": "no-such"})", "mine.json").error().code, Errc::kNotFound);
  const std::string path = testing::TempDir() + "tidegate_profile_circle.json";
  std::ofstream(path) << R"({"extends": ")" << path << R"("})";
  const Result<Profile> circle = load_profile(path);
  std::remove(path.c_str());
  expect_error(circle, path + ": \"extends\" goes in a circle");
}

TEST(SimProfile, ChangesComeOnTop) {
  const std::vector<std::string> changes = {"wddm.budget.bias_repartition_mib=583", "rules.A.4=false",
                                            "rules.W-9=false", "wddm.paging.commit_mode=eager"};
  const Result<Profile> changed = load_profile("rtx4060ti-16g-wddm", changes);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(changed->wddm.bias_repartition, 583 * kMiB);
  EXPECT_EQ(changed->wddm.commit_mode, vidmm::CommitMode::kEager);
  EXPECT_FALSE(changed->rules.on(9));
  EXPECT_FALSE(changed->rules.on(kRuleA4));
  for (const char* wrong : {"", "=1", "memory", "name.x=1"}) {
    const Result<Profile> refused = load_profile("rtx4060ti-16g-wddm", {wrong});
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  }
  EXPECT_EQ(load_profile("rtx4060ti-16g-wddm", {"memory.total_mib=-3"}).error().code, Errc::kBadFile);
  EXPECT_EQ(load_profile("rtx4060ti-16g-wddm", {"personality=mcdm"})->managed_by_windows(), true);
  EXPECT_EQ(load_profile("rtx4060ti-16g-wddm", {"personality=tcc"})->managed_by_windows(), false);
}

}  // namespace
}  // namespace tidegate::sim
