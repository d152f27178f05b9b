// suite schedule and the words that go with it.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/output/display_width.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Parse;
using ::testing::SizeIs;

class SuiteSchedule : public ::testing::Test {
 protected:
  SuiteSchedule() {
    setenv("TZ", "UTC", 1);
    tzset();
    fs::create_directories(folder_);
    file_ = folder_ / "nightly.textproto";
    std::ofstream(file_) << R"(name: "nightly" summary: "Two."
      entries { kernels: "sum" dtypes: "fp32" sizes: "1Ki" }
      entries { kernels: "sum" dtypes: "fp32" sizes: "2Ki" implementations: "cub" })";
  }
  ~SuiteSchedule() override { fs::remove_all(folder_); }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "suite");
    out_.str("");
    err_.str("");
    Io io{out_, err_};
    Interrupt interrupt;
    return fake_.Run(arguments, io, interrupt);
  }

  testing::FakeCoordinator fake_;
  const fs::path folder_ = fs::path(::testing::TempDir()) / "kbench-schedule-test";
  fs::path file_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(SuiteSchedule, ItsJobsAreSentOnceForEachDevice) {
  EXPECT_EQ(Run({"schedule", "--file", file_, "--at", "02:00", "--zone", "Europe/Vienna", "--days",
                 "mon,thu", "--as", "twice", "--on", "gpu0,gpu1"}),
            0)
      << err_.str();
  EXPECT_EQ(out_.str(), "twice: 02:00 mon,thu, Europe/Vienna; next: 2023-11-14 22:13\n");
  ASSERT_THAT(fake_.schedules.set, SizeIs(1));
  const kbench::v1::Schedule& sent = fake_.schedules.set[0].schedule();
  EXPECT_EQ(sent.suite(), "nightly");
  EXPECT_EQ(sent.owner(), "ana");
  EXPECT_THAT(sent.days(), ElementsAre("mon", "thu"));
  std::vector<std::string> devices;
  for (const auto& job : sent.jobs()) {
    devices.push_back(job.device());
    EXPECT_EQ(job.labels().at("suite"), "nightly");
  }
  EXPECT_THAT(devices, ElementsAre("gpu0", "gpu1", "gpu0", "gpu1"));
  EXPECT_THAT(fake_.jobs.submitted, IsEmpty()) << "nothing runs now";
}

TEST_F(SuiteSchedule, WithoutMoreItIsEveryDayUnderTheNameOfTheSuite) {
  EXPECT_EQ(Run({"schedule", "--file", file_, "--at", "02:00", "-o", "json"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("{\"schedule\":{\"name\":\"nightly\""));
  EXPECT_EQ(fake_.schedules.set.at(0).schedule().jobs_size(), 2);
  EXPECT_EQ(fake_.schedules.set[0].schedule().jobs(0).device(), "");
}

TEST_F(SuiteSchedule, TheListSaysWhatBecameOfTheLastRun) {
  EXPECT_EQ(Run({"schedules"}), 0);
  EXPECT_EQ(out_.str(), "no schedules\n");
  fake_.schedules.schedules = Parse<kbench::v1::ListSchedulesResponse>(R"(
    schedules { name: "a" owner: "ana" at: "02:00" next_time { seconds: 1700000000 }
                runs { due_time { seconds: 1699913600 } jobs: "jobs/x" } }
    schedules { name: "b" owner: "ben" at: "03:00" days: "sun" paused: true
                runs { due_time { seconds: 1699913600 }
                       skipped: "the coordinator was away at the time, for a long while indeed" } }
    schedules { name: "c" at: "04:00" })");
  EXPECT_EQ(Run({"schedules"}), 0);
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("2023-11-14 22:13  2023-11-13 22:13\n"),
            HasSubstr("03:00 sun        paused            skipped\n"), HasSubstr("never ran\n"),
            HasSubstr("\nb: the run of 2023-11-13 22:13 was skipped: the coordinator")));
  std::istringstream lines(out_.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 90u) << line;
}

TEST_F(SuiteSchedule, PauseContinueAndUnschedule) {
  EXPECT_EQ(Run({"pause", "twice"}), 0);
  EXPECT_EQ(out_.str(), "twice: 02:00 every day; next: paused\n");
  EXPECT_EQ(Run({"continue", "twice"}), 0);
  ASSERT_THAT(fake_.schedules.paused, SizeIs(2));
  EXPECT_TRUE(fake_.schedules.paused[0].paused());
  EXPECT_FALSE(fake_.schedules.paused[1].paused());
  EXPECT_EQ(Run({"unschedule", "twice"}), 0);
  EXPECT_EQ(out_.str(), "twice: no schedule any more\n");
  EXPECT_THAT(fake_.schedules.deleted, ElementsAre("twice"));
  fake_.schedules.status = absl::NotFoundError("there is no schedule twice");
  for (const char* verb : {"pause", "continue", "unschedule"}) {
    EXPECT_EQ(Run({verb, "twice"}), 2) << verb;
    EXPECT_EQ(err_.str(), "kbench-client: there is no schedule twice\n");
  }
}

}  // namespace
}  // namespace kbench::client
