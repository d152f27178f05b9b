#include "client/report/evidence.h"

#include "client/report/ratio.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/report_samples.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Made;

std::vector<std::string> Names(const MeasuredCase& one) {
  std::vector<std::string> names;
  for (const Result& row : one.rows) names.push_back(row.implementation());
  return names;
}

TEST(GatherTest, NothingIsNoReport) {
  EXPECT_THAT(std::string(Gather({}, "").status().message()), HasSubstr("no results"));
  const auto other = Gather({Made({})}, "gpu7");
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("no result is of device gpu7"));
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("gpu0"));
}

TEST(GatherTest, TwoDevicesAreRefusedUntilOneIsChosen) {
  const std::vector<Result> both = {Made({}), Made({.device = "gpu1"})};
  const auto refused = Gather(both, "");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--device"));
  const auto chosen = Gather(both, "gpu1");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->device, "gpu1");
  ASSERT_EQ(chosen->cases.size(), 1u);
  EXPECT_EQ(chosen->cases[0].rows.size(), 1u);
}

TEST(GatherTest, TheSameNameOnTwoMachinesIsTwoDevices) {
  Result elsewhere = Made({.implementation = "triton"});
  elsewhere.mutable_environment()->set_hostname("there");
  EXPECT_FALSE(Gather({Made({}), elsewhere}, "").ok());
  EXPECT_FALSE(Gather({Made({}), elsewhere}, "gpu0").ok()) << "the name does not tell them apart";
  Result failed = Made({.implementation = "triton"});
  failed.clear_environment();
  EXPECT_TRUE(Gather({Made({}), failed}, "").ok()) << "it ended before anything was known";
}

TEST(GatherTest, TheLaterLineOfANameCounts) {
  Result later = Made({});
  later.set_verdict(kbench::v1::VERDICT_SUSPECT);
  const auto evidence = Gather({Made({}), Made({.implementation = "cub"}), later}, "");
  ASSERT_TRUE(evidence.ok());
  ASSERT_THAT(Names(evidence->cases[0]), ElementsAre("cuda/vectorized", "cub"));
  EXPECT_EQ(evidence->cases[0].rows[0].verdict(), kbench::v1::VERDICT_SUSPECT);
}

TEST(GatherTest, OfSeveralJobsTheLaterCountsAndTheEarlierFillsIn) {
  Result old = Made({.seconds = 2e-3, .job = "jobs/oldoldol"});
  old.mutable_create_time()->set_seconds(1000);
  Result only = Made({.implementation = "triton", .job = "jobs/oldoldol"});
  only.mutable_create_time()->set_seconds(1001);
  Result fresh = Made({.seconds = 1e-3, .job = "jobs/newnewne"});
  fresh.mutable_create_time()->set_seconds(2000);
  const auto evidence = Gather({fresh, old, only}, "");
  ASSERT_TRUE(evidence.ok());
  ASSERT_EQ(evidence->cases.size(), 1u);
  EXPECT_THAT(Names(evidence->cases[0]), ElementsAre("cuda/vectorized", "triton"));
  EXPECT_DOUBLE_EQ(evidence->cases[0].rows[0].device_time().median(), 1e-3);
  EXPECT_THAT(evidence->notes, ElementsAre(HasSubstr("1 earlier rows are left out")));
  EXPECT_THAT(evidence->jobs, ElementsAre("newnewne", "oldoldol"));
}

TEST(GatherTest, OtherModesAreListedOnly) {
  Result hot = Made({});
  hot.mutable_case_()->set_mode("hot");
  const auto evidence = Gather({hot}, "");
  ASSERT_TRUE(evidence.ok());
  EXPECT_THAT(evidence->cases, IsEmpty());
  EXPECT_EQ(evidence->other_modes.size(), 1u);
}

TEST(GatherTest, DifferentDriversAreSaid) {
  Result other = Made({.implementation = "triton", .job = "jobs/bbbbbbbb"});
  other.mutable_environment()->set_driver("570");
  Result one = Made({});
  one.mutable_environment()->set_driver("580");
  const auto evidence = Gather({one, other}, "");
  ASSERT_TRUE(evidence.ok());
  EXPECT_THAT(evidence->notes, ElementsAre(HasSubstr("different drivers: 570, 580")));
}

TEST(MeasuredCaseTest, TheFastestUsableRowStandsForItsRole) {
  Result slow = Made({.implementation = "cuda/naive", .seconds = 2e-3});
  Result broken = Made({.implementation = "cuda/shuffle", .seconds = 1e-4});
  broken.set_outcome(kbench::v1::OUTCOME_WRONG_RESULT);
  Result invalid = Made({.implementation = "cuda/tiled", .seconds = 1e-4});
  invalid.set_verdict(kbench::v1::VERDICT_INVALID);
  const MeasuredCase one{"sum", "fp32", "n=1", {slow, broken, invalid, Made({})}};
  EXPECT_EQ(one.Best(Role::kHand)->implementation(), "cuda/vectorized");
  EXPECT_EQ(one.Fastest()->implementation(), "cuda/vectorized");
  EXPECT_EQ(one.Best(Role::kTriton), nullptr);
  EXPECT_EQ(one.Named("cuda/tiled"), nullptr);
}

TEST(MeasuredCaseTest, AnotherEnvironmentStandsInOnlyWhereTheDefaultIsMissing) {
  const Result there = Made({.implementation = "torch@torch211", .seconds = 1e-4});
  const MeasuredCase both{"sum", "fp32", "n=1", {there, Made({.implementation = "torch"})}};
  EXPECT_EQ(both.Best(Role::kTorch)->implementation(), "torch");
  const MeasuredCase alone{"sum", "fp32", "n=1", {there}};
  EXPECT_EQ(alone.Best(Role::kTorch)->implementation(), "torch@torch211");
}

TEST(RoleTest, FamiliesHaveRoles) {
  EXPECT_EQ(RoleOf("cuda/wgmma"), Role::kHand);
  EXPECT_EQ(RoleOf("cpu/naive"), Role::kHand);
  for (const char* library : {"cub", "cublas", "cublaslt-tuned", "cudnn", "cpu/onednn"}) {
    EXPECT_EQ(RoleOf(library), Role::kLibrary) << library;
  }
  EXPECT_EQ(RoleOf("torch/flash@torch211"), Role::kTorch);
  EXPECT_EQ(RoleOf("triton/tma"), Role::kTriton);
  EXPECT_EQ(RoleOf("triton-aot/two-launches"), Role::kTritonAot);
  EXPECT_EQ(RoleOf("mojo"), Role::kOther);
  EXPECT_EQ(VariantOf("torch/flash@torch211"), "/flash");
  EXPECT_EQ(FamilyOf("torch@torch211"), "torch");
}

TEST(RatioTest, RowsOfACaseArePairedByRound) {
  Result slow = Made({.implementation = "triton"});
  Result fast = Made({});
  // Drift common to both cancels: the ratio is 2 in every round.
  for (int round = 0; round < 8; ++round) {
    fast.mutable_device_time()->set_round_medians(round, 1e-3 * (1 + 0.1 * round));
    slow.mutable_device_time()->set_round_medians(round, 2e-3 * (1 + 0.1 * round));
  }
  const Ratio ratio = SpeedOf(slow, fast);
  EXPECT_EQ(ratio.how, Ratio::How::kByRound);
  EXPECT_NEAR(ratio.value, 0.5, 1e-12);
  EXPECT_NEAR(ratio.low, 0.5, 1e-12);
  EXPECT_NEAR(ratio.high, 0.5, 1e-12);
  EXPECT_EQ(RatioText(ratio), "0.500x [0.500, 0.500]");
}

TEST(RatioTest, RowsOfTwoCasesGoFromEndToEnd) {
  const Result a = Made({.seconds = 1e-3, .case_index = 0, .spread = 0.1});
  const Result b = Made({.seconds = 2e-3, .case_index = 1, .spread = 0.1});
  const Ratio ratio = SpeedOf(a, b);
  EXPECT_EQ(ratio.how, Ratio::How::kApart);
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_DOUBLE_EQ(ratio.low, 1.8e-3 / 1.1e-3);
  EXPECT_DOUBLE_EQ(ratio.high, 2.2e-3 / 0.9e-3);
  // Another job is another session: its intervals are the wider ones, of 20 %.
  Result other = b;
  other.set_job("jobs/bbbbbbbb");
  EXPECT_DOUBLE_EQ(SpeedOf(a, other).low, 1.6e-3 / 1.2e-3);
}

TEST(RatioTest, WithoutRoundsOrIntervalsThereIsAValueAlone) {
  Result a = Made({});
  a.mutable_device_time()->clear_round_medians();
  a.mutable_device_time()->clear_low();
  a.mutable_device_time()->clear_high();
  const Ratio ratio = SpeedOf(a, Made({.seconds = 2e-3}));
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_FALSE(ratio.sure());
  EXPECT_EQ(RatioText(ratio), "2.000x");
  EXPECT_EQ(RatioText({}), "-");
}

TEST(DifferenceTest, GoesFromEndToEnd) {
  const Result a = Made({.submit = 30e-6, .spread = 0.1});
  const Result b = Made({.submit = 4e-6, .spread = 0.1});
  const Difference difference = DifferenceOf(a.host_submit_time(), b.host_submit_time());
  EXPECT_NEAR(difference.value, 26e-6, 1e-12);
  EXPECT_NEAR(difference.low, 27e-6 - 4.4e-6, 1e-12);
  EXPECT_NEAR(difference.high, 33e-6 - 3.6e-6, 1e-12);
  EXPECT_EQ(DifferenceText(difference), "+26.00 us [+22.60, +29.40]");
  EXPECT_FALSE(DifferenceOf(a.host_submit_time(), {}).known);
}

}  // namespace
}  // namespace kbench::client
