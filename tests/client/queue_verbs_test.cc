// queue, explain, and what submit and show say of a job's place.
#include <algorithm>
#include <sstream>

#include "client/output/display_width.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Parse;
using ::testing::StartsWith;

class QueueVerbsTest : public ::testing::Test {
 protected:
  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    Io io{out_, err_};
    const int code = fake_.Run(arguments, io, interrupt_);
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) {
      const bool json = line.rfind("{", 0) == 0;
      EXPECT_TRUE(json || DisplayWidth(line) <= 90) << line;
    }
    return code;
  }
  testing::FakeCoordinator fake_;
  Interrupt interrupt_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(QueueVerbsTest, QueuePassesItsFiltersAndPrints) {
  fake_.jobs.queue = Parse<kbench::v1::QueueSnapshot>(R"(
    time { seconds: 1000 } devices { device: "cpu" state: "READY" }
    waiting { job: "jobs/a" owner: "ana" priority_class: "ci" text: "sum fp32 1Mi" waiting_cases: 1
              start_estimate { earliest { seconds: 1000 } latest { seconds: 1030 } } }
    waiting_jobs: 1 waiting_cases: 1)");
  EXPECT_EQ(Run({"queue", "--device", "cpu", "--owner", "ana", "-n", "3"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("1 job (1 case) waits\n"));
  EXPECT_THAT(out_.str(), HasSubstr("<30 s"));
  EXPECT_THAT(err_.str(), IsEmpty());
  EXPECT_EQ(fake_.jobs.queue_requests[0].owner(), "ana");
  EXPECT_EQ(fake_.jobs.queue_requests[0].most_waiting(), 3);
  EXPECT_EQ(Run({"queue", "-o", "json"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("{\"queue\":{\"time\""));
  const std::string lines = out_.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
}

TEST_F(QueueVerbsTest, AFilterThatNobodyPassesNamesWhoWould) {
  fake_.jobs.queue = Parse<kbench::v1::QueueSnapshot>(R"(
    time { seconds: 1000 } waiting_jobs: 2 owners { owner: "anna" } owners { owner: "ben" })");
  EXPECT_EQ(Run({"queue", "--owner", "ana"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("ana has nothing queued or running; who has: anna"));
  EXPECT_EQ(Run({"queue", "--owner", "ben", "--device", "cpu"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("nothing of ben waits for cpu"));
}

TEST_F(QueueVerbsTest, WrongUse) {
  EXPECT_EQ(Run({"queue", "-n", "-1"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("-1 is outside 1 to 1000"));
  EXPECT_EQ(Run({"queue", "-n", "1001"}), 2);
  EXPECT_EQ(Run({"queue", "-o", "csv"}), 2);
  EXPECT_EQ(Run({"queue", "--owner", " "}), 2);
  EXPECT_EQ(Run({"explain"}), 2);
  fake_.jobs.get_status =
      MakeError(absl::StatusCode::kNotFound, "there is no device gpu1",
                {.reason = "UNKNOWN_DEVICE", .metadata = {{"nearest", "gpu0"}}});
  EXPECT_EQ(Run({"queue", "--device", "gpu1"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no device gpu1; nearest: gpu0"));
  fake_.jobs.get_status =
      MakeError(absl::StatusCode::kNotFound, "there is no job nix", {.reason = "UNKNOWN_JOB"});
  EXPECT_EQ(Run({"explain", "nix"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no job nix"));
}

TEST_F(QueueVerbsTest, ExplainSaysTheRuleWhoIsAheadAndEveryDevice) {
  fake_.jobs.explanation = Parse<kbench::v1::Explanation>(R"(
    job { name: "jobs/k3f9x2ab" owner: "ana" state: JOB_STATE_QUEUED }
    rule: "OWNER_USAGE" sentence: "x of ben goes first: ben has used 12 s, ana has used 4 min"
    ahead { job: "jobs/x" owner: "ben" priority_class: "interactive" text: "sum fp32 1Mi"
            estimated_seconds: 12 rule: "OWNER_USAGE" }
    ahead_jobs: 3
    devices { device: "gpu0" suitable: true reason: "DEVICE_BUSY" message: "runs y of ben" }
    devices { device: "gpu1" reason: "NOT_SELECTED" message: "the job asks for another device" })");
  EXPECT_EQ(Run({"explain", "k3f9x2ab"}), 0);
  EXPECT_EQ(fake_.jobs.explained[0].name(), "jobs/k3f9x2ab");
  EXPECT_EQ(out_.str(),
            "job k3f9x2ab of ana is QUEUED: OWNER_USAGE\n"
            "x of ben goes first: ben has used 12 s, ana has used 4 min.\n"
            "Nobody can say when it starts; 3 jobs are ahead of it.\n"
            "\n"
            "ahead  owner  class        next case     takes  because\n"
            "x      ben    interactive  sum fp32 1Mi   15 s  its owner used less\n"
            "and 2 more\n"
            "\n"
            "device            why\n"
            "gpu0    suitable  runs y of ben\n"
            "gpu1    no        the job asks for another device\n");
  EXPECT_EQ(Run({"explain", "k3f9x2ab", "-o", "json"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("{\"explanation\":{\"job\""));
}

TEST_F(QueueVerbsTest, ExplainOfAnEndedJobIsItsEnd) {
  fake_.jobs.explanation = Parse<kbench::v1::Explanation>(R"(
    job { name: "jobs/k" state: JOB_STATE_CANCELLED } rule: "CANCELLED"
    sentence: "it has ended: CANCELLED, cancelled before it ran")");
  EXPECT_EQ(Run({"explain", "k"}), 0);
  EXPECT_EQ(out_.str(), "job k is CANCELLED\nIt has ended: CANCELLED, cancelled before it ran.\n");
}

TEST_F(QueueVerbsTest, SubmitWithoutWaitingSaysWhereTheJobStands) {
  fake_.jobs.job = Parse<kbench::v1::Job>(R"(
    name: "jobs/k" state: JOB_STATE_QUEUED queue_position: 2 create_time { seconds: 1000 }
    start_estimate { earliest { seconds: 1040 } latest { seconds: 1170 } })");
  EXPECT_EQ(Run({"submit", "sum", "fp32", "1Mi", "--detach"}), 0);
  EXPECT_EQ(out_.str(), "k\n");
  EXPECT_THAT(err_.str(), StartsWith("it waits: 2 cases ahead, starts in 40 s to 3 min\n"));
  fake_.jobs.job.clear_start_estimate();
  EXPECT_EQ(Run({"submit", "sum", "fp32", "1Mi", "--detach"}), 0);
  EXPECT_THAT(err_.str(), StartsWith("it waits: 2 cases ahead, nobody can say when it starts\n"));
  fake_.jobs.job.set_message("its device is offline");
  EXPECT_EQ(Run({"submit", "sum", "fp32", "1Mi", "--detach"}), 0);
  EXPECT_THAT(err_.str(), StartsWith("it waits: its device is offline\n"));
  fake_.jobs.job.set_state(kbench::v1::JOB_STATE_RUNNING);
  EXPECT_EQ(Run({"submit", "sum", "fp32", "1Mi", "--detach"}), 0);
  EXPECT_THAT(err_.str(), StartsWith("it runs\n"));
}

TEST_F(QueueVerbsTest, DevicesNamesWhoElseIsThere) {
  fake_.devices.devices = Parse<kbench::v1::ListDevicesResponse>(R"(
    devices { name: "gpu0" kind: "cuda" state: "READY"
              foreign { pid: 4711 user: "bob" command: "python" memory_bytes: 1073741824
                        utilization: 0.5 } })");
  EXPECT_EQ(Run({"devices", "-v"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("others: python (pid 4711, user bob), 1.0 GiB, 50 %"));
  EXPECT_EQ(Run({"devices"}), 0);
  EXPECT_THAT(out_.str(), Not(HasSubstr("4711")));
}

}  // namespace
}  // namespace kbench::client
