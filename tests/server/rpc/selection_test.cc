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
