#include "server/rpc/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void Add(kbench::v1::Device* device, const std::string& name, bool default_choice,
         bool hidden = false) {
  auto* one = device->add_implementations();
  one->set_name(name);
  one->set_family(name.substr(0, name.find('/')));
  one->set_kernel("copy");
  one->add_dtypes("fp32");
  one->set_default_choice(default_choice);
  one->set_hidden(hidden);
}

kbench::v1::Device WithHidden() {
  kbench::v1::Device device;
  Add(&device, "cpu/naive", false);
  Add(&device, "cpu/onednn", true);
  Add(&device, "cpu/secret", true, true);
  Add(&device, "selftest/a", true, true);
  Add(&device, "selftest/b", false, true);
  return device;
}

std::vector<std::string> Chosen(const std::vector<std::string>& names) {
  kbench::v1::CaseSpec spec;
  spec.set_kernel("copy");
  spec.set_dtype("fp32");
  return SelectImplementations(names, WithHidden(), spec).implementations;
}

TEST(Selection, HiddenOnesRunByTheirExactNameOnly) {
  EXPECT_THAT(Chosen({}), ElementsAre("cpu/onednn"));
  EXPECT_THAT(Chosen({"all"}), ElementsAre("cpu/naive", "cpu/onednn"));
  EXPECT_THAT(Chosen({"cpu"}), ElementsAre("cpu/naive", "cpu/onednn"));
  EXPECT_THAT(Chosen({"selftest/b", "selftest/a"}), ElementsAre("selftest/a", "selftest/b"));
  EXPECT_THAT(Chosen({"all", "selftest/a"}), ElementsAre("cpu/naive", "cpu/onednn", "selftest/a"));
  EXPECT_THAT(Chosen({"selftest"}), ElementsAre("selftest")) << "no family: the worker refuses it";
}

TEST(Selection, TheDefaultChoiceBesideOthers) {
  EXPECT_THAT(Chosen({"default"}), ElementsAre("cpu/onednn"));
  EXPECT_THAT(Chosen({"default", "cpu/naive"}), ElementsAre("cpu/naive", "cpu/onednn"));
  EXPECT_THAT(Chosen({"cpu/naive", "default", "torch"}),
              ElementsAre("cpu/naive", "cpu/onednn", "torch"))
      << "what is asked for and absent keeps its row";
}

TEST(Selection, AnOptionalWordIsNothingWhereTheDeviceHasNothing) {
  EXPECT_THAT(Chosen({"cpu/naive?", "torch?"}), ElementsAre("cpu/naive"));
  EXPECT_THAT(Chosen({"default", "cpu?"}), ElementsAre("cpu/naive", "cpu/onednn"));
  EXPECT_THAT(Chosen({"torch?"}), IsEmpty());
  EXPECT_THAT(Chosen({"?"}), ElementsAre("?")) << "a mark alone is a name like any other";
}

TEST(Selection, OnlyHiddenDefaultsAreNoDefaults) {
  kbench::v1::Device device;
  Add(&device, "cpu/naive", false);
  Add(&device, "selftest/a", true, true);
  kbench::v1::CaseSpec spec;
  spec.set_kernel("copy");
  spec.set_dtype("fp32");
  EXPECT_THAT(SelectImplementations({}, device, spec).implementations, ElementsAre("cpu/naive"));
}

TEST(Selection, TheHighestRungOfAFamilyRunsByDefault) {
  kbench::v1::Device device;
  for (const char* name : {"cuda/naive", "cuda/best", "cuda/second", "cub", "cpu/a", "cpu/b"}) {
    Add(&device, name, true);
  }
  device.mutable_implementations(1)->set_rung(2);
  device.mutable_implementations(2)->set_rung(1);
  kbench::v1::CaseSpec spec;
  spec.set_kernel("copy");
  spec.set_dtype("fp32");
  EXPECT_THAT(SelectImplementations({}, device, spec).implementations,
              ElementsAre("cuda/best", "cub", "cpu/a", "cpu/b"));
  device.mutable_implementations(1)->set_dtypes(0, "fp64");
  EXPECT_THAT(SelectImplementations({}, device, spec).implementations,
              ElementsAre("cuda/second", "cub", "cpu/a", "cpu/b"))
      << "a variant of another dtype does not count";
}

TEST(Selection, TheBestOfAFamilyBringsTheLowerOnesForShapesItDoesNotTake) {
  kbench::v1::Device device;
  for (const char* name : {"cuda/naive", "cuda/best", "cuda/second", "cub"}) {
    Add(&device, name, true);
  }
  Add(&device, "cuda/odd", false);
  device.mutable_implementations(1)->set_rung(2);
  device.mutable_implementations(2)->set_rung(1);
  kbench::v1::CaseSpec spec;
  spec.set_kernel("copy");
  spec.set_dtype("fp32");
  const Selection selection = SelectImplementations({}, device, spec);
  ASSERT_EQ(selection.lower.size(), 1u);
  EXPECT_THAT(selection.lower.at("cuda/best"), ElementsAre("cuda/second", "cuda/naive"));
  EXPECT_TRUE(SelectImplementations({"all"}, device, spec).lower.empty()) << "they run anyway";
  EXPECT_TRUE(SelectImplementations({"cuda/best"}, device, spec).lower.empty())
      << "who asks by name gets an answer about that one";
  EXPECT_TRUE(SelectImplementations({"default", "cuda/best"}, device, spec).lower.empty())
      << "also beside the default choice";
}

void AddPython(kbench::v1::Device* device, const std::string& base, const std::string& environment,
               bool default_choice, int rung = 0) {
  const bool in_default = environment == "default";
  Add(device, in_default ? base : base + "@" + environment, in_default && default_choice);
  auto* one = device->mutable_implementations(device->implementations_size() - 1);
  one->set_family(base.substr(0, base.find('/')));
  one->set_environment(environment);
  one->set_rung(rung);
}

// copy: cub, torch and torch/slow in two environments, triton in one.
kbench::v1::Device WithPython() {
  kbench::v1::Device device;
  Add(&device, "cuda/naive", true);
  for (const char* environment : {"default", "torch211"}) {
    AddPython(&device, "torch", environment, true, 1);
    AddPython(&device, "torch/slow", environment, true);
    AddPython(&device, "torch/odd", environment, false);
  }
  AddPython(&device, "triton", "torch211", true);
  return device;
}

Selection Select(const std::vector<std::string>& names,
                 const std::vector<std::string>& environments,
                 const kbench::v1::Device& device = WithPython()) {
  kbench::v1::CaseSpec spec;
  spec.set_kernel("copy");
  spec.set_dtype("fp32");
  return SelectImplementations(names, device, spec, environments);
}

TEST(Selection, PythonRunsInTheDefaultEnvironment) {
  EXPECT_THAT(Select({}, {}).implementations, ElementsAre("cuda/naive", "torch"));
  EXPECT_THAT(Select({"all"}, {}).implementations,
              ElementsAre("cuda/naive", "torch", "torch/slow", "torch/odd"));
  EXPECT_THAT(Select({"torch"}, {}).implementations, ElementsAre("torch")) << "an exact name";
  EXPECT_THAT(Select({"torch/odd@torch211"}, {}).implementations,
              ElementsAre("torch/odd@torch211"));
  EXPECT_THAT(Select({"triton"}, {}).implementations, ElementsAre("triton"))
      << "only in another environment: the worker says that it is absent";
  EXPECT_THAT(Select({"triton@torch211"}, {}).implementations, ElementsAre("triton@torch211"));
}

TEST(Selection, EnvironmentsStandSideBySide) {
  EXPECT_THAT(Select({"torch"}, {"default", "torch211"}).implementations,
              ElementsAre("torch", "torch@torch211"));
  EXPECT_THAT(Select({"torch", "cuda"}, {"torch211"}).implementations,
              ElementsAre("cuda/naive", "torch@torch211"));
  EXPECT_THAT(Select({}, {"torch211"}).implementations,
              ElementsAre("cuda/naive", "torch@torch211", "triton@torch211"));
  const Selection both = Select({}, {"torch211", "default"});
  EXPECT_THAT(both.implementations,
              ElementsAre("cuda/naive", "torch", "torch@torch211", "triton@torch211"));
  EXPECT_THAT(both.lower.at("torch@torch211"), ElementsAre("torch/slow@torch211"));
  EXPECT_THAT(both.lower.at("torch"), ElementsAre("torch/slow"));
  EXPECT_EQ(both.baseline, "cuda/naive") << "as without environments";
  EXPECT_THAT(Select({"all"}, {"torch211"}).implementations,
              ElementsAre("cuda/naive", "torch@torch211", "torch/slow@torch211",
                          "torch/odd@torch211", "triton@torch211"));
  EXPECT_THAT(Select({"nobody", "triton"}, {"default", "torch211"}).implementations,
              ElementsAre("triton@torch211", "nobody", "triton"))
      << "no row is dropped in silence";
  EXPECT_EQ(Select({"torch"}, {"torch211", "default"}).baseline, "torch@torch211")
      << "the first environment, where no baseline of the kernel runs";
  EXPECT_EQ(Select({"torch"}, {"torch211"}).baseline, "");
}

TEST(Selection, AFamilyHasItsMembersInEachEnvironment) {
  kbench::v1::Device device;
  for (const char* environment : {"default", "old"}) {
    AddPython(&device, "torch/flash", environment, false);
    AddPython(&device, "torch/math", environment, false);
  }
  EXPECT_THAT(Select({"torch"}, {}, device).implementations,
              ElementsAre("torch/flash", "torch/math"));
  EXPECT_THAT(Select({"torch@old"}, {}, device).implementations,
              ElementsAre("torch/flash@old", "torch/math@old"));
  EXPECT_THAT(Select({"torch"}, {"old", "default"}, device).implementations,
              ElementsAre("torch/flash", "torch/math", "torch/flash@old", "torch/math@old"));
}

TEST(Selection, EnvironmentsAndWhatIsAbsentAreKnown) {
  kbench::v1::Device device = WithPython();
  device.set_name("gpu0");
  auto* absent = device.add_absent();
  absent->set_framework("triton");
  absent->set_environment("default");
  absent->set_message("too old");
  absent->set_install("pip install triton");
  auto* starting = device.add_absent();
  starting->set_framework("torch");
  starting->set_environment("late");
  starting->set_starting(true);
  EXPECT_THAT(KnownEnvironments({&device}), ElementsAre("default", "late", "torch211"));
  EXPECT_EQ(WhyAbsent({&device}, "triton", ""),
            "triton (default) is absent on gpu0: too old; install it with: pip install triton");
  EXPECT_EQ(WhyAbsent({&device}, "triton", "torch211"), "");
  EXPECT_EQ(WhyAbsent({&device}, "torch", "late"), "") << "not known yet";
  EXPECT_TRUE(MayComeSoon({&device}, "torch/flash@late"));
  EXPECT_FALSE(MayComeSoon({&device}, "triton"));
  const auto words = KnownImplementationWords({&device});
  for (const char* word : {"torch", "torch/odd", "torch@torch211", "triton@torch211"}) {
    EXPECT_THAT(words, ::testing::Contains(word));
  }
}

TEST(Selection, HiddenOnesAreNeverSuggested) {
  const kbench::v1::Device device = WithHidden();
  EXPECT_THAT(KnownImplementationWords({&device}), ElementsAre("cpu", "cpu/naive", "cpu/onednn"));
  EXPECT_TRUE(IsHidden({&device}, "selftest/a"));
  EXPECT_FALSE(IsHidden({&device}, "selftest"));
  EXPECT_FALSE(IsHidden({&device}, "cpu/naive"));
  EXPECT_FALSE(IsHidden({}, "selftest/a"));
}

}  // namespace
}  // namespace kbench::server
