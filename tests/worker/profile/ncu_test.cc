// A look at one launch with a script in the place of ncu.
#include "worker/profile/ncu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace kbench::profile {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Leaves its arguments, and finds the log file among them.
constexpr char kBegin[] = R"sh(echo "$@" >> "$0.arguments"
all=" $* "
while [ $# -gt 0 ]; do
  if [ "$1" = --log-file ]; then log=$2; fi
  shift
done
)sh";

constexpr char kTwoKernels[] = R"sh(cat > "$log" <<'END'
"ID","Kernel Name","gpu__time_duration.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed"
"","","ns","%"
"0","First(float *)","9000","90"
"1","Second(float *)","1000","5"
END
)sh";

class NcuTest : public testing::Test {
 protected:
  void SetUp() override {
    look_.folder = testing::TempDir() + "/ncu-" + std::to_string(getpid());
    std::filesystem::create_directories(look_.folder);
    look_.ncu = look_.folder + "/ncu";
    look_.runner = {"/opt/kbench/bin/kbench-runner-cuda", "--threads", "4"};
    look_.env = {{"CUDA_VISIBLE_DEVICES", "GPU-1"}};
    look_.prepare.mutable_prepare()->set_implementation("cuda/naive");
    look_.architecture = "sm_90";
    look_.seconds = 10;
  }
  void TearDown() override { std::filesystem::remove_all(look_.folder); }
  Seen LookWith(const std::string& script) {
    std::ofstream(look_.ncu) << "#!/bin/sh\n" << kBegin << script;
    std::filesystem::permissions(look_.ncu, std::filesystem::perms::owner_all);
    return LookAtLaunch(look_, nullptr);
  }
  std::string Arguments() const {
    std::ifstream file(look_.ncu + ".arguments");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  Look look_;
};

TEST_F(NcuTest, TheLongestKernelSpeaksForTheLaunch) {
  const Seen seen = LookWith(kTwoKernels);
  EXPECT_EQ(seen.profile.message(), "");
  EXPECT_EQ(seen.profile.kernel(), "First(float *)");
  EXPECT_EQ(seen.profile.kernels(), 2);
  EXPECT_EQ(seen.profile.sentence(),
            "limited by device memory: 90 % of its peak; that is the longest of the launch's 2 "
            "kernels, with 90 % of its time");
  EXPECT_THAT(seen.table, HasSubstr("Second"));
  EXPECT_THAT(Arguments(),
              AllOf(HasSubstr("--profile-from-start off"), HasSubstr("--page raw"),
                    HasSubstr("_issue_stalled_gmma_"),
                    HasSubstr("/opt/kbench/bin/kbench-runner-cuda --threads 4 --stdio")));
}

TEST_F(NcuTest, CachesAreKeptWhereTheCaseKeepsThem) {
  look_.cold = false;
  LookWith(kTwoKernels);
  EXPECT_THAT(Arguments(), HasSubstr("--cache-control none"));
}

TEST_F(NcuTest, MetricsThatItDoesNotKnowAreLeftOut) {
  const Seen seen = LookWith(std::string(R"sh(
case "$all" in *lts__throughput*)
  echo "==ERROR== Failed to find metric lts__throughput.avg.pct_of_peak_sustained_elapsed" > "$log"
  exit 1;;
esac
)sh") + kTwoKernels);
  EXPECT_EQ(seen.profile.limiter(), "dram");
  const std::string arguments = Arguments();
  const std::string second = arguments.substr(arguments.find('\n') + 1);
  EXPECT_THAT(second, AllOf(HasSubstr("dram__throughput"), Not(HasSubstr("lts__throughput"))));
}

TEST_F(NcuTest, WhyThereIsNone) {
  EXPECT_THAT(
      LookWith("echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > \"$log\"\n").profile.message(),
      AllOf(HasSubstr("no profile: "), HasSubstr("lets only root read")));
  EXPECT_THAT(LookWith("echo '{\"id\":\"1\",\"failure\":{\"message\":\"too little memory\"}}'\n")
                  .profile.message(),
              HasSubstr("the runner failed under ncu: too little memory"));
  EXPECT_THAT(LookWith("exit 7\n").profile.message(), HasSubstr("saw no kernel (exit code 7)"));
  look_.seconds = 0.3;
  EXPECT_THAT(LookWith("sleep 100\n").profile.message(), HasSubstr("was not done within"));
  look_.ncu = look_.folder + "/nothing";
  EXPECT_THAT(LookAtLaunch(look_, nullptr).profile.message(), HasSubstr("cannot start"));
}

}  // namespace
}  // namespace kbench::profile
