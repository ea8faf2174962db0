#include <map>

#include <gmock/gmock.h>

#include "cli/workflow.h"
#include "tests/support/temp_folder.h"

namespace tidegate::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kExamples = TIDEGATE_SOURCE_DIR "/examples/workflows/";
constexpr const char* kTensor = R"({"name":"w","shape":[4,8],"dtype":"bf16","op":"linear","tokens":"text"})";
constexpr const char* kStep = R"({"label":"go","model":"m","passes":2,"tokens":{"text":3}})";

std::string workflow_of(const std::string& tensors, const std::string& step = kStep) {
  return R"({"tidegate_workflow":1,"name":"n","models":[{"name":"m","groups":[{"tensors":[)" + tensors +
         R"(]}]}],"steps":[)" + step + "]}";
}

std::string fault(const std::string& json) {
  const auto parsed = parse_workflow(json, "file.json");
  if (parsed) return "no error";
  EXPECT_EQ(parsed.error().code, Errc::kBadFile);
  EXPECT_THAT(parsed.error().message, HasSubstr("file.json"));
  EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  return parsed.error().message;
}

// As ComfyUI counts what it stages: modules over 16 KiB (examples/workflows/generate.py says more).
Bytes staged_bytes(const Model& model) {
  std::map<std::string, Bytes> modules;
  const auto module_of = [](const std::string& name) {
    const auto dot = name.rfind('.');
    return dot == std::string::npos ? std::string() : name.substr(0, dot);
  };
  for (const auto& weight : model.weights) modules[module_of(weight.name)] += weight.bytes;
  Bytes staged = 0;
  for (const auto& weight : model.weights) {
    if (modules[module_of(weight.name)] > 16 * kKiB) staged += weight.bytes;
  }
  return staged;
}

TEST(WorkflowFile, MainWorkflowHasTheTotalsOfTheIssue) {
  const auto loaded = load_workflow(std::string(kExamples) + "ltxav-zimage-lumina2.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->models.size(), 3u);
  EXPECT_EQ(staged_bytes(loaded->models[0]) / kMiB, 20484u);
  EXPECT_EQ(staged_bytes(loaded->models[1]) / kMiB, 7671u);
  EXPECT_EQ(staged_bytes(loaded->models[2]) / kMiB, 11738u);
  EXPECT_EQ(loaded->steps.size(), 8u);
  EXPECT_EQ(loaded->steps[0].passes, 8u);
}

TEST(WorkflowFile, AllExamplesLoad) {
  for (const char* name : {"tiny.json", "two-models-alternating.json"}) {
    const auto loaded = load_workflow(std::string(kExamples) + name);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  }
}

TEST(WorkflowFile, TiedTensorsAreUsedTwiceAndStoredOnce) {
  const auto loaded = load_workflow(std::string(kExamples) + "tiny.json");
  ASSERT_TRUE(loaded.ok());
  const Model& encoder = loaded->models[1];
  EXPECT_EQ(encoder.uses.size(), encoder.weights.size() + 1);
  EXPECT_EQ(encoder.uses.back().weight, 0u);
}

TEST(WorkflowFile, CountsFlopsOfLinearTensorsOnly) {
  const auto loaded =
      parse_workflow(workflow_of(std::string(kTensor) +
                                 R"(,{"name":"e","shape":[4,8],"dtype":"f32","op":"embedding","tokens":"text"},)"
                                 R"({"name":"b","shape":[4],"dtype":"f32","op":"elementwise"})"),
                     "file.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(flops_of_pass(loaded->models[0], loaded->steps[0]), (std::vector<double>{2 * 32 * 3, 0, 0}));
}

TEST(WorkflowFile, RepeatsGroupsWithNumbers) {
  const auto loaded = parse_workflow(
      R"({"tidegate_workflow":1,"name":"n","models":[{"name":"m","groups":[{"repeat":2,"first":5,"tensors":[)"
      R"({"name":"l.{}.w","shape":[4],"dtype":"u8","op":"elementwise"}]}]}],)"
      R"("steps":[{"label":"go","model":"m","passes":1}]})",
      "file.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->models[0].weights[0].name, "l.5.w");
  EXPECT_EQ(loaded->models[0].weights[1].name, "l.6.w");
}

struct BadCase {
  const char* tensor;
  const char* says;
};

TEST(WorkflowFile, NamesThePlaceOfABadTensor) {
  const BadCase cases[] = {
      {R"({"name":"w","shape":[4],"dtype":"f12","op":"elementwise"})",
       "$.models[0].groups[0].tensors[0].dtype: unknown"},
      {R"({"name":"w","shape":[4],"dtype":"f32","op":"magic"})", "tensors[0].op: unknown"},
      {R"({"name":"w","shape":[-4],"dtype":"f32","op":"elementwise"})", "tensors[0].shape[0]: must be a whole number"},
      {R"({"name":"w","shape":[0],"dtype":"f32","op":"elementwise"})", "shape[0]: must be"},
      {R"({"name":"w","shape":[],"dtype":"f32","op":"elementwise"})", "shape: must not be empty"},
      {R"({"name":"w","shape":[1.5],"dtype":"f32","op":"elementwise"})", "shape[0]: must be"},
      {R"({"name":"w","shape":[1e30],"dtype":"f32","op":"elementwise"})", "shape[0]: must be"},
      {R"({"name":"w","shape":[1099511627776,1099511627776],"dtype":"f32","op":"elementwise"})", "more than 1 TiB"},
      {R"({"name":"w","shape":[4],"dtype":"f32","op":"elementwise","color":"red"})", "unknown key 'color'"},
      {R"({"name":"w","shape":[4],"dtype":"f32"})", "lacks the key 'op'"},
      {R"({"name":"w","shape":[4],"dtype":"f32","op":"linear"})", "lacks the key 'tokens'"},
      {R"({"name":"","shape":[4],"dtype":"f32","op":"elementwise"})", "tensors[0].name: must be a text"},
      {R"({"name":"a\nb","shape":[4],"dtype":"f32","op":"elementwise"})", "control characters"},
      {R"({"name":"w","shape":[4],"dtype":"f32","op":"elementwise","tied_to":"v"})", "tied_to: 'v' is no earlier"},
      {R"({"name":"w","shape":[4],"dtype":"f32","op":"linear","tokens":"image"})", "lacks the count of 'image'"},
      {R"({"name":"w","shape":[4],"dtype":"f32","op":"elementwise"},{"name":"w","shape":[4],"dtype":"f32","op":"elementwise"})",
       "'w' is listed twice"},
      {R"({"name":"w","shape":[4],"dtype":"f32","op":"elementwise"},)"
       R"({"name":"v","shape":[5],"dtype":"f32","op":"elementwise","tied_to":"w"})",
       "another shape or type"},
      {"7", "must be an object"},
  };
  for (const BadCase& bad : cases) EXPECT_THAT(fault(workflow_of(bad.tensor)), HasSubstr(bad.says)) << bad.tensor;
}

TEST(WorkflowFile, NamesThePlaceOfABadStep) {
  const auto step_fault = [](const char* step) { return fault(workflow_of(kTensor, step)); };
  EXPECT_THAT(step_fault(R"({"label":"go","model":"x","passes":1})"),
              HasSubstr("$.steps[0].model: there is no model 'x'"));
  EXPECT_THAT(step_fault(R"({"label":"go","model":"m","passes":1})"), HasSubstr("'text' tokens"));
  EXPECT_THAT(step_fault(R"({"label":"go","model":"m","passes":0,"tokens":{"text":1}})"), HasSubstr("passes: must be"));
  EXPECT_THAT(step_fault(R"({"label":"go","model":"m","passes":1,"tokens":{"text":-1}})"),
              HasSubstr("must be a whole"));
  EXPECT_THAT(step_fault(R"({"label":"go","model":"m","passes":1,"tokens":[]})"),
              HasSubstr("tokens: must be an object"));
}

TEST(WorkflowFile, RefusesOtherBadDocuments) {
  EXPECT_THAT(fault(""), HasSubstr("line 1, column 1: not valid JSON"));
  EXPECT_THAT(fault("{\n \"a\": }"), HasSubstr("line 2"));
  EXPECT_THAT(fault("[]"), HasSubstr("$: must be an object"));
  EXPECT_THAT(fault(R"({"tidegate_workflow":2,"name":"n","models":[],"steps":[]})"), HasSubstr("$.tidegate_workflow"));
  EXPECT_THAT(fault(R"({"tidegate_workflow":1,"name":"n","models":[],"steps":[]})"),
              HasSubstr("$.models: must not be"));
  EXPECT_THAT(fault(R"({"tidegate_workflow":1,"name":"n","name":"n"})"), HasSubstr("'name' is given twice"));
  EXPECT_THAT(fault(R"({"tidegate_workflow":1,"name":"n","models":[{"name":"m","groups":[{"repeat":2,"tensors":[)" +
                    std::string(kTensor) + R"(]}]}],"steps":[]})"),
              HasSubstr("no {}"));
}

TEST(Workflow, ScalesBytesAndFlops) {
  auto loaded = parse_workflow(workflow_of(R"({"name":"w","shape":[64,64],"dtype":"u8","op":"linear","tokens":"text"},)"
                                           R"({"name":"s","shape":[100],"dtype":"u8","op":"elementwise"})"),
                               "file.json");
  ASSERT_TRUE(loaded.ok());
  Workflow workflow = *loaded;
  scale_workflow(workflow, 1.0 / 16);
  EXPECT_EQ(workflow.models[0].weights[0].bytes, 512u);  // 256, up to a whole 512
  EXPECT_EQ(workflow.models[0].weights[1].bytes, 100u);  // never above the true size
  EXPECT_EQ(workflow.models[0].uses[0].flops_per_token, 2.0 * 64 * 64 / 16);
}

TEST(Workflow, CutsWeightsOfFiles) {
  test::TempFolder folder;
  const std::string header = R"({"a":{"dtype":"U8","shape":[1300],"data_offsets":[0,1300]},)"
                             R"("b":{"dtype":"U8","shape":[0],"data_offsets":[1300,1300]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header + std::string(1300, 'x');
  auto loaded = workflow_of_file(folder.write("m.safetensors", bytes), base::InputFile::Cache::kPage, 3);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  Workflow workflow = *loaded;
  EXPECT_EQ(workflow.steps[0].passes, 3u);
  ASSERT_EQ(workflow.models[0].weights.size(), 1u);  // no place for the empty one
  const double flops = workflow.models[0].uses[0].flops_per_token;

  EXPECT_EQ(cut_file_weights(workflow, 512), 1u);
  const Model& model = workflow.models[0];
  ASSERT_EQ(model.weights.size(), 3u);
  EXPECT_EQ(model.weights[2].name, "a part 3/3");
  EXPECT_EQ(model.weights[2].bytes, 1300u - 1024u);
  EXPECT_EQ(model.weights[2].stored, model.weights[0].stored);
  EXPECT_EQ(model.weights[2].stored_offset, 1024u);
  EXPECT_EQ(model.uses.size(), 3u);
  EXPECT_DOUBLE_EQ(model.uses[0].flops_per_token, flops * 512 / 1300);
}

}  // namespace
}  // namespace tidegate::cli
