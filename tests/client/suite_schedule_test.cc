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

TEST_F(SuiteSchedule, DaysAreTakenInAnyCaseAndOneDeviceIsEnough) {
  EXPECT_EQ(Run({"schedule", "--file", file_, "--at", "02:00", "--days", "Mon,THU", "--on", "cpu"}),
            0)
      << err_.str();
  const kbench::v1::Schedule& sent = fake_.schedules.set.at(0).schedule();
  EXPECT_THAT(sent.days(), ElementsAre("mon", "thu"));
  ASSERT_EQ(sent.jobs_size(), 2);
  EXPECT_EQ(sent.jobs(0).device(), "cpu");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(SuiteSchedule, SaysThatRoughNumbersFeedNoHistory) {
  EXPECT_EQ(Run({"schedule", "--file", file_, "--at", "02:00", "--quick"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("not measured at default precision"));
  EXPECT_EQ(fake_.schedules.set.at(0).schedule().jobs(0).policy().target_ratio(), 0.02);
}

constexpr char kThree[] = R"(
    schedules { name: "a" owner: "ana" suite: "essay" at: "02:00" zone: "Europe/Vienna"
                next_time { seconds: 1700000000 } interval_seconds: 86400
                jobs { device: "gpu0" } jobs { device: "gpu1" }
                runs { due_time { seconds: 1699913600 } jobs: "jobs/x" jobs: "jobs/y"
                       state: JOB_STATE_FAILED } }
    schedules { name: "b" owner: "ben" suite: "smoke" at: "03:00" days: "sun" paused: true jobs {}
                runs { due_time { seconds: 1699913600 }
                       skipped: "the coordinator was away at the time, for a long while indeed" } }
    schedules { name: "c" owner: "ben" suite: "c" at: "04:00" jobs { device: "cpu" } })";

TEST_F(SuiteSchedule, TheListSaysWhatRunsWhereAndWhatBecameOfTheLastRun) {
  EXPECT_EQ(Run({"schedules"}), 0);
  EXPECT_EQ(out_.str(), "no schedules\n");
  fake_.schedules.schedules = Parse<kbench::v1::ListSchedulesResponse>(kThree);
  EXPECT_EQ(Run({"schedules"}), 0);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("next (here)"), HasSubstr("2023-11-14 22:13  FAILED\n"),
                    HasSubstr("paused            skipped\n"), HasSubstr("never ran\n")));
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("\na: suite essay on gpu0, gpu1; the run of 2023-11-13 22:13: FAILED "
                      "(x, y)\n"),
            HasSubstr("\nb: suite smoke on the default device; the run of 2023-11-13 22:13:"),
            HasSubstr("\nc: suite c on cpu\n")));
  std::istringstream lines(out_.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 90u) << line;
}

TEST_F(SuiteSchedule, EachFormatTellsTheSame) {
  fake_.schedules.schedules = Parse<kbench::v1::ListSchedulesResponse>(kThree);
  EXPECT_EQ(Run({"schedules", "-o", "csv"}), 0);
  EXPECT_THAT(
      out_.str(),
      AllOf(::testing::StartsWith("schedule,owner,suite,devices,at,"),
            HasSubstr("\r\na,ana,essay,gpu0 gpu1,02:00,,Europe/Vienna,false,"
                      "2023-11-14T22:13:20Z,86400,2023-11-13T22:13:20Z,FAILED,"
                      "jobs/x jobs/y,\r\n"),
            HasSubstr("\r\nb,ben,smoke,,03:00,sun,,true,,,2023-11-13T22:13:20Z,skipped,,")));
  EXPECT_EQ(Run({"schedules", "-o", "markdown"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("| a | ana | 02:00 every day, Europe/Vienna | "),
                                HasSubstr("a: suite essay on gpu0, gpu1")));
  EXPECT_EQ(Run({"schedules", "-o", "json"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\"state\":\"JOB_STATE_FAILED\""));
  EXPECT_EQ(Run({"unschedule", "a", "-o", "json"}), 0);
  EXPECT_EQ(out_.str(), "{\"unscheduled\":\"a\"}\n");
  EXPECT_EQ(Run({"unschedule", "a", "-o", "csv"}), 0);
  EXPECT_EQ(out_.str(), "unscheduled\r\na\r\n");
  EXPECT_EQ(Run({"pause", "a", "-o", "csv"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\r\na,,,,02:00,,,true,"));
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
