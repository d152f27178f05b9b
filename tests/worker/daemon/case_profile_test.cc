// --profile: a look with Nsight Compute (a script here) behind the rounds.
#include "tests/worker/daemon/case_driver_fixture.h"

namespace kbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Writes the table to where --log-file says, and its arguments and input beside itself.
constexpr char kFakeNcu[] = R"sh(
echo "$@" > "$0.arguments"
cat > "$0.frames"
while [ $# -gt 0 ]; do
  if [ "$1" = --log-file ]; then log=$2; fi
  shift
done
cat > "$log" <<'END'
==PROF== Connected to process 4711 (/opt/kbench/bin/kbench-runner-cuda)
"ID","Process ID","Kernel Name","CC","dram__bytes.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum"
"","","","","byte","%","ns"
"0","4711","void Copy<float>(const float *, float *)","9.0","4,200,000","91.5","1,000"
END
)sh";

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class CaseProfileTest : public CaseDriverTest {
 protected:
  void SetUp() override {
    CaseDriverTest::SetUp();
    facts_.device.set_architecture("sm_90");
    assign_.mutable_policy()->set_profile(true);
    ncu_ = Script("ncu", kFakeNcu);
    Implementations({"fake/fast"});
  }
};

TEST_F(CaseProfileTest, TheResultSaysWhatLimits) {
  MakePool({"--parent", "1", "--cpus", "0-3"});
  const v1::Result result = Run().at("fake/fast");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(result.profile().message(), "");
  EXPECT_EQ(result.profile().limiter(), "dram");
  EXPECT_EQ(result.profile().sentence(), "limited by device memory: 92 % of its peak, 4200 GB/s");
  EXPECT_EQ(result.profile().kernel(), "void Copy<float>(const float *, float *)");
  EXPECT_DOUBLE_EQ(result.profile().metrics().at("gpu__time_duration.sum"), 1e-6);
  ASSERT_NE(Find("profile-fake_fast.csv"), nullptr);
  EXPECT_THAT(Find("profile-fake_fast.csv")->content(), HasSubstr("4,200,000"));
  // A runner that may be driven by hand, without the parent that ncu is not.
  EXPECT_THAT(FileText(ncu_ + ".arguments"),
              AllOf(HasSubstr("--clock-control none --cache-control all"),
                    HasSubstr("--profile-from-start off"), HasSubstr("--cpus 0-3 --stdio"),
                    Not(HasSubstr("--parent"))));
  EXPECT_THAT(
      FileText(ncu_ + ".frames"),
      AllOf(HasSubstr("\"prepare\""), HasSubstr("\"fake/fast\""), HasSubstr("\"profileLaunch\"")));
  EXPECT_GT(outcome_.result.phase_seconds().at("profile"), 0);
}

TEST_F(CaseProfileTest, OnlyWhoAsksIsProfiled) {
  assign_.mutable_policy()->set_profile(false);
  EXPECT_FALSE(Run().at("fake/fast").has_profile());
  EXPECT_FALSE(std::filesystem::exists(ncu_ + ".arguments"));
}

TEST_F(CaseProfileTest, ACellThatFailedIsNot) {
  Implementations({"fake/wrong"});
  EXPECT_FALSE(Run().at("fake/wrong").has_profile());
  EXPECT_FALSE(std::filesystem::exists(ncu_ + ".arguments"));
}

TEST_F(CaseProfileTest, WithoutNcuTheResultSaysSo) {
  ncu_.clear();
  const v1::Result result = Run().at("fake/fast");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_THAT(result.profile().message(), HasSubstr("needs Nsight Compute"));
}

TEST_F(CaseProfileTest, ACpuSaysSo) {
  facts_.device.set_kind("cpu");
  EXPECT_EQ(Run().at("fake/fast").profile().message(),
            "no profile: it needs a GPU and Nsight Compute");
}

TEST_F(CaseProfileTest, ForbiddenCountersAreAPlainSentence) {
  ncu_ = Script("ncu",
                "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access "
                "NVIDIA GPU Performance Counters on the target device 0.'; exit 1\n");
  const v1::Result result = Run().at("fake/fast");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_THAT(result.profile().message(), HasSubstr("lets only root read"));
}

TEST_F(CaseProfileTest, AnNcuThatHangsEndsWithTheBudget) {
  ncu_ = Script("ncu", "sleep 1000\n");
  SetBudget(8);
  const v1::Result result = Run().at("fake/fast");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_THAT(result.profile().message(), HasSubstr("was not done within"));
  EXPECT_LT(run_seconds_, 8.5);
}

}  // namespace
}  // namespace kbench
