// Every verb through the command line, against a coordinator in this process.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/app.h"
#include "client/output/cells.h"
#include "client/output/progress.h"
#include "client/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using testing::EndedCase;
using testing::Event;
using testing::FakeCoordinator;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OkRow;
using testing::Parse;
using ::testing::StartsWith;

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

class CommandsTest : public ::testing::Test {
 protected:
  Ran Run(const std::vector<std::string>& arguments, bool terminal = false) {
    std::ostringstream out;
    std::ostringstream err;
    Io io{out, err, terminal};
    Interrupt interrupt;
    const int code = fake_.Run(arguments, io, interrupt);
    return {code, out.str(), err.str()};
  }

  // One line, an exit code for wrong use.
  void ExpectUsage(const std::vector<std::string>& arguments, const std::string& part) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, AllOf(StartsWith("kbench-client: "), HasSubstr(part)));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
  }

  // A job of one case that ends well.
  void PrepareJob() {
    fake_.jobs.job = Parse<kbench::v1::Job>(
        R"(name: "jobs/k3f9x2ab" state: JOB_STATE_QUEUED owner: "ann"
           spec { cases { kernel: "matmul" dtype: "fp16" size: "4096" } })");
    const std::string ended = EndedCase("results { is_baseline: true " + OkRow("cublas") + "}");
    fake_.jobs.streams = {
        {.events = {
             Event(R"(snapshot { name: "jobs/k3f9x2ab" state: JOB_STATE_QUEUED last_sequence: 1
                     cases { spec { kernel: "matmul" dtype: "fp16" size: "4096" }
                             state: JOB_STATE_QUEUED } })"),
             Event("sequence: 2 case_changed { state: JOB_STATE_RUNNING }"),
             Event("progress { phase: \"measure\" round: 3 }"),
             Event("sequence: 3 case_changed { " + ended + " }"),
             Event(R"(sequence: 4 final { name: "jobs/k3f9x2ab" state: JOB_STATE_SUCCEEDED
                     cases { )" +
                   ended + " } }")}}};
  }

  FakeCoordinator fake_;
};

TEST_F(CommandsTest, HelpIsShortAndPlain) {
  const Ran ran = Run({"--help"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_LT(std::count(ran.out.begin(), ran.out.end(), '\n'), 40) << ran.out;
  for (const auto& command : AllCommands()) {
    EXPECT_THAT(ran.out, HasSubstr("\n  " + command->name() + " "));
    const Ran help = Run({command->name(), "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr(command->help()));
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;
  }
  EXPECT_EQ(Run({}).code, 2);
  EXPECT_THAT(Run({"--version"}).out, StartsWith("kbench-client "));
}

TEST_F(CommandsTest, WrongUseIsOneLine) {
  ExpectUsage({"sumbit", "matmul"}, "there is no verb sumbit; nearest: submit");
  ExpectUsage({"submit"}, "KERNEL is required");
  ExpectUsage({"submit", "matmul", "fp16"}, "SIZE is required");
  ExpectUsage({"submit", "matmul", "fp16", "64", "--frobnicate"}, "--frobnicate");
  ExpectUsage({"submit", "matmul", "fp16", "64", "-o", "yaml"}, "yaml");
  ExpectUsage({"submit", "matmul", "fp16", "64", "--quick", "--precise"}, "--precise");
  ExpectUsage({"submit", "matmul", "fp16", "64", "--seed", "x"}, "x");
  ExpectUsage({"list", "--state", "asleep"}, "there is no state 'asleep'");
  ExpectUsage({"list", "--state", "runing"}, "nearest: running");
  ExpectUsage({"up", "--metrics-listen= "}, "--metrics-listen: is empty; give HOST:PORT");
  ExpectUsage({"watch"}, "JOB is required");
  ExpectUsage({"submit", "matmul", "fp16", "64", "--margin", "-1%"},
              "margin: '-1%' is not a margin");
  ExpectUsage({"submit", "matmul", "fp16", "64", "--target", "-1%"},
              "target: '-1%' is not a precision");
}

TEST_F(CommandsTest, NumbersOutsideTheirRangeNameIt) {
  const auto submit = [](const std::string& option, const std::string& value) {
    return std::vector<std::string>{"submit", "matmul", "fp16", "64", option, value};
  };
  const std::string seeds = " is outside 0 to 18446744073709551615";
  ExpectUsage(submit("--seed", "-1"), "submit: --seed: -1" + seeds);
  ExpectUsage(submit("--seed", "18446744073709551616"), "18446744073709551616" + seeds);
  ExpectUsage(submit("--seed", "99999999999999999999999"), seeds);
  ExpectUsage(submit("--seed", "1.5"), "--seed: '1.5' is not a whole number");
  ExpectUsage(submit("--seed", "7x"), "--seed: '7x' is not a whole number");
  ExpectUsage(submit("--priority", "-1"), "--priority: -1 is outside 0 to 1000");
  ExpectUsage(submit("--priority", "1001"), "--priority: 1001 is outside 0 to 1000");
  ExpectUsage({"list", "--limit", "0"}, "--limit: 0 is outside 1 to 1000000");
  ExpectUsage({"up", "--timeout", "-5"}, "--timeout: -5 is outside 0 to 86400");
  ExpectUsage({"up", "--timeout", "nan"}, "--timeout: nan is outside 0 to 86400");
  ExpectUsage({"down", "--grace", "soon"}, "--grace: 'soon' is not a number");
  EXPECT_TRUE(fake_.jobs.submitted.empty());
}

TEST_F(CommandsTest, TheWholeRangeOfSeedsAndPrioritiesIsTaken) {
  PrepareJob();
  Run({"submit", "matmul", "fp16", "64", "--detach", "--seed", "18446744073709551615", "--priority",
       "1000"});
  ASSERT_EQ(fake_.jobs.submitted.size(), 1U);
  EXPECT_EQ(fake_.jobs.submitted[0].spec().policy().seed(), 18446744073709551615U);
  EXPECT_EQ(fake_.jobs.submitted[0].spec().priority(), 1000);
}

TEST_F(CommandsTest, TheHelpOfSubmitListsTheExitCodes) {
  const std::string help = Run({"submit", "--help"}).out;
  EXPECT_THAT(help, AllOf(HasSubstr("Exit codes: 0 "), HasSubstr("130 Ctrl-C"), HasSubstr("75 ")));
}

TEST_F(CommandsTest, TextOfOthersCannotDriveTheTerminal) {
  fake_.jobs.job = Parse<kbench::v1::Job>(
      R"(name: "jobs/k3f9x2ab" state: JOB_STATE_FAILED owner: "e\n\033[31mred" message: "\033[2J"
         cases { spec { kernel: "matmul" dtype: "\033[1m" size: "4096" } state: JOB_STATE_FAILED
                 message: "x\033[31m" })");
  EXPECT_THAT(Run({"list"}).out, AllOf(HasSubstr("e??[31mred"), Not(HasSubstr("\x1b"))));
  for (const char* format : {"table", "csv", "markdown", "json"}) {
    EXPECT_THAT(Run({"show", "k3f9x2ab", "-o", format}).out, Not(HasSubstr("\x1b"))) << format;
  }
  fake_.jobs.streams = {
      {.events = {
           Event(R"(final { name: "jobs/a" state: JOB_STATE_EXPIRED message: "\033[2J" })")}}};
  EXPECT_EQ(Run({"watch", "a"}).err, "kbench-client: job a ended EXPIRED: ?[2J\n");
}

TEST_F(CommandsTest, OnlyCasesWithAnAnswerAreDoneInTheList) {
  fake_.jobs.job = Parse<kbench::v1::Job>(
      R"(name: "jobs/k3f9x2ab" state: JOB_STATE_EXPIRED cases_done: 3
         cases { spec { kernel: "sum" dtype: "fp32" size: "1Mi" } state: JOB_STATE_SUCCEEDED }
         cases { state: JOB_STATE_EXPIRED } cases { state: JOB_STATE_EXPIRED })");
  EXPECT_THAT(Run({"list"}).out, HasSubstr("1/3"));
}

TEST(PlaceText, WhoeverIsAheadHasNotBegunYet) {
  kbench::v1::Job job;
  job.mutable_start_estimate()->mutable_earliest()->set_seconds(1000);
  job.mutable_start_estimate()->mutable_latest()->set_seconds(1001);
  EXPECT_EQ(PlaceText(job, 1000), "next, starts now");
  job.set_queue_position(2);
  EXPECT_EQ(PlaceText(job, 1000), "2 cases ahead, starts in a moment");
}

TEST_F(CommandsTest, SubmitWaitsAndPrintsTheTable) {
  PrepareJob();
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--quick", "--label", "a=b"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("matmul fp16 m=4096,n=4096,k=4096,layout=nn, cold, on gpu0"));
  EXPECT_THAT(ran.out, HasSubstr("\ncublas  "));
  EXPECT_THAT(ran.err, IsEmpty()) << "no progress where standard error is no terminal";
  ASSERT_EQ(fake_.jobs.submitted.size(), 1U);
  const auto& request = fake_.jobs.submitted[0];
  EXPECT_EQ(request.request_id().size(), 36U);
  EXPECT_EQ(request.owner(), "ana");
  EXPECT_DOUBLE_EQ(request.spec().policy().target_ratio(), 0.02);
  EXPECT_EQ(request.spec().labels().at("a"), "b");
}

TEST_F(CommandsTest, ProgressIsDrawnOnATerminalAndErased) {
  PrepareJob();
  const Ran ran = Run({"submit", "matmul", "fp16", "4096"}, /*terminal=*/true);
  EXPECT_THAT(ran.err, HasSubstr("measuring, round 3"));
  EXPECT_THAT(ran.err, ::testing::EndsWith("\r\x1b[K"));
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
}

TEST_F(CommandsTest, SubmitJsonStartsWithTheSnapshot) {
  PrepareJob();
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "-o", "json"});
  EXPECT_THAT(ran.out, StartsWith(R"({"event":{"snapshot":{"name":"jobs/k3f9x2ab")"));
  EXPECT_THAT(ran.out, HasSubstr("\n{\"result\":{"));
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 6);
}

TEST_F(CommandsTest, DetachPrintsTheJobAndReturns) {
  PrepareJob();
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--detach", "--request-id", "id-1"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "k3f9x2ab\n");
  EXPECT_THAT(ran.err, HasSubstr("kbench-client watch k3f9x2ab"));
  EXPECT_EQ(fake_.jobs.submitted[0].request_id(), "id-1");
  EXPECT_TRUE(fake_.jobs.watched.empty());
}

TEST_F(CommandsTest, TheCoordinatorsComplaintIsOneLineWithTheNearestValues) {
  fake_.jobs.submit_status = MakeError(
      absl::StatusCode::kInvalidArgument, "spec.cases[0].dtype: kernel matmul has no dtype fp61",
      {.reason = "UNSUPPORTED_DTYPE",
       .metadata = {{"nearest", "fp64, fp16"}},
       .violations = {{"spec.cases[0].dtype", "kernel matmul has no dtype fp61"}}});
  const Ran ran = Run({"submit", "matmul", "fp61", "4096"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "kbench-client: dtype: kernel matmul has no dtype fp61; nearest: fp64, fp16\n");
}

absl::Status Refusal(double retry_after_seconds) {
  return MakeError(absl::StatusCode::kResourceExhausted, "ann has 9 jobs that have not ended",
                   {.reason = "OWNER_JOBS",
                    .metadata = {},
                    .violations = {},
                    .retry_after_seconds = retry_after_seconds});
}

TEST_F(CommandsTest, ASubmitThatIsToldToComeLaterWaitsAndSaysSo) {
  PrepareJob();
  fake_.jobs.submit_refusals = {Refusal(0.01), Refusal(0.01)};
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--detach"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(fake_.jobs.submitted.size(), 3U);
  EXPECT_EQ(fake_.jobs.submitted[0].request_id(), fake_.jobs.submitted[2].request_id())
      << "or a lost reply would make two jobs";
  EXPECT_THAT(ran.err, HasSubstr("ann has 9 jobs that have not ended; trying again in 1 s"));
}

TEST_F(CommandsTest, ASubmitGivesUpWhenItsPatienceIsOver) {
  PrepareJob();
  fake_.jobs.submit_status = Refusal(30);
  const Ran impatient = Run({"submit", "matmul", "fp16", "4096", "--wait-for-queue", "0s"});
  EXPECT_EQ(impatient.code, 75);
  EXPECT_EQ(fake_.jobs.submitted.size(), 1U);
  EXPECT_THAT(impatient.err, HasSubstr("try again in 30 s"));
  fake_.jobs.submit_status = Refusal(0.01);
  const Ran patient = Run({"submit", "matmul", "fp16", "4096", "--wait-for-queue", "1500ms"});
  EXPECT_EQ(patient.code, 75);
  EXPECT_EQ(fake_.jobs.submitted.size(), 3U) << "at once, after half a second, and no third time";
  // What will never fit is no reason to wait.
  fake_.jobs.submit_status =
      MakeError(absl::StatusCode::kResourceExhausted, "too long", {.reason = "JOB_TOO_LONG"});
  EXPECT_EQ(Run({"submit", "matmul", "fp16", "4096"}).code, 2);
  ExpectUsage({"submit", "matmul", "fp16", "1", "--wait-for-queue", "soon"}, "wait-for-queue");
}

TEST_F(CommandsTest, SharingAndAgesReachTheCoordinatorAndFreshStandsAlone) {
  PrepareJob();
  Run({"submit", "matmul", "fp16", "4096", "--detach", "--share", "--max-age", "24h"});
  Run({"submit", "matmul", "fp16", "4096", "--detach", "--fresh"});
  Run({"submit", "matmul", "fp16", "4096", "--detach"});
  ASSERT_EQ(fake_.jobs.submitted.size(), 3U);
  EXPECT_TRUE(fake_.jobs.submitted[0].spec().share_in_flight());
  EXPECT_EQ(fake_.jobs.submitted[0].spec().max_result_age().seconds(), 86'400);
  EXPECT_TRUE(fake_.jobs.submitted[1].spec().has_max_result_age());
  EXPECT_EQ(fake_.jobs.submitted[1].spec().max_result_age().seconds(), 0);
  EXPECT_FALSE(fake_.jobs.submitted[2].spec().has_max_result_age());
  EXPECT_FALSE(fake_.jobs.submitted[2].spec().share_in_flight());
  ExpectUsage({"submit", "matmul", "fp16", "1", "--fresh", "--max-age", "1h"}, "--fresh");
  ExpectUsage({"submit", "matmul", "fp16", "1", "--fresh", "--share"}, "--fresh");
  ExpectUsage({"submit", "matmul", "fp16", "1", "--max-age", "0s"}, "max-age");
}

TEST_F(CommandsTest, ResultsOfAnotherJobAreNamed) {
  const std::string taken = R"(results_of: "jobs/old" end_time { seconds: 20000 })";
  constexpr std::int64_t kSubmitted = 19'999'500'000;
  // Half a second before the job came it was over already: nothing of it was shared.
  for (const auto& [measured, says] :
       {std::pair{"seconds: 9200", "Measured 3 h before this job asked, by jobs/old."},
        {"seconds: 19999", "Measured 1 s before this job asked, by jobs/old."},
        {"seconds: 20000", "Shared with jobs/old, which measured the same case."}}) {
    const auto status = Parse<kbench::v1::CaseStatus>(
        EndedCase(taken + "results { is_baseline: true " +
                  OkRow("cublas", std::string("create_time { ") + measured + "}") + "}"));
    EXPECT_THAT(CaseNotes(status, kSubmitted), ::testing::Contains(says));
  }
}

TEST(PauseTest, GrowsAboveWhatWasAskedForWithJitter) {
  EXPECT_DOUBLE_EQ(PauseSeconds(1, 10, 0), 10);
  EXPECT_DOUBLE_EQ(PauseSeconds(1, 10, 0.8), 12);
  EXPECT_DOUBLE_EQ(PauseSeconds(1, 0.1, 0), 0.5);
  EXPECT_DOUBLE_EQ(PauseSeconds(4, 0.1, 0), 4);
  EXPECT_DOUBLE_EQ(PauseSeconds(50, 0.1, 0), 60);
  EXPECT_DOUBLE_EQ(PauseSeconds(50, 3600, 0), 60) << "nobody sleeps through a change of the limits";
}

TEST_F(CommandsTest, ANegativeSizeReachesTheCoordinator) {
  PrepareJob();
  Run({"submit", "matmul", "fp16", "-5"});
  ASSERT_EQ(fake_.jobs.submitted.size(), 1U);
  EXPECT_EQ(fake_.jobs.submitted[0].spec().cases(0).size(), "-5");
}

TEST_F(CommandsTest, AJobThatEndsBadlySaysWhy) {
  fake_.jobs.streams = {
      {.events = {Event(
           R"(final { name: "jobs/a" state: JOB_STATE_EXPIRED message: "it did not start within 5 s"
         cases { spec { kernel: "sum" dtype: "fp32" size: "1Mi" } state: JOB_STATE_EXPIRED } })")}}};
  const Ran ran = Run({"watch", "a"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.err, "kbench-client: job a ended EXPIRED: it did not start within 5 s\n");
}

TEST_F(CommandsTest, ShowCancelAndList) {
  fake_.jobs.job = Parse<kbench::v1::Job>(
      R"(name: "jobs/k3f9x2ab" state: JOB_STATE_SUCCEEDED owner: "ann" cases_done: 1
         cases { )" +
      EndedCase("results { " + OkRow("cublas") + "}") + " }");
  EXPECT_THAT(Run({"show", "k3f9x2ab"}).out,
              AllOf(StartsWith("job k3f9x2ab: SUCCEEDED\n\nmatmul fp16"), HasSubstr("\ncublas ")));
  const Ran json = Run({"show", "jobs/k3f9x2ab", "-o", "json"});
  EXPECT_THAT(json.out, AllOf(StartsWith("{\"job\":{"), HasSubstr("\n{\"result\":{")));
  EXPECT_EQ(Run({"cancel", "k3f9x2ab"}).out, "k3f9x2ab SUCCEEDED\n");
  const Ran list = Run({"list", "--state", "succeeded", "--limit", "2"});
  EXPECT_THAT(list.out, AllOf(StartsWith("job "), HasSubstr("\nk3f9x2ab  SUCCEEDED  1/1")));
  EXPECT_EQ(std::count(list.out.begin(), list.out.end(), '\n'), 3) << list.out;
  ASSERT_EQ(fake_.jobs.listed.size(), 2U);
  EXPECT_EQ(fake_.jobs.listed[1].page_token(), "second");
  EXPECT_EQ(fake_.jobs.listed[0].state(), kbench::v1::JOB_STATE_SUCCEEDED);
}

TEST_F(CommandsTest, ShowTellsHowARowRanOnRequest) {
  fake_.jobs.job =
      Parse<kbench::v1::Job>(R"(name: "jobs/k3f9x2ab" state: JOB_STATE_SUCCEEDED cases { )" +
                             EndedCase("results { " +
                                       OkRow("cuda/mma",
                                             R"(configuration { key: "registers" value: "168" }
                         configuration { key: "local_bytes" value: "0" }
                         configuration { key: "instead_of" value: "cuda/wgmma: k is odd" }
                         autotune_seconds: 0.25)") +
                                       "} results { " + OkRow("plain") + "}") +
                             " }");
  const std::string verbose = Run({"show", "k3f9x2ab", "-v"}).out;
  EXPECT_THAT(verbose, HasSubstr("\ncuda/mma: instead_of=cuda/wgmma: k is odd local_bytes=0 "
                                 "registers=168 autotune=250.0 ms\n"));
  EXPECT_THAT(verbose, Not(HasSubstr("plain:")));
  const std::string brief = Run({"show", "k3f9x2ab"}).out;
  EXPECT_THAT(brief, Not(HasSubstr("registers=")));
  EXPECT_THAT(brief, HasSubstr("cuda/mma stands in for cuda/wgmma: k is odd"));
}

TEST_F(CommandsTest, AnUnknownJobIsOneLine) {
  fake_.jobs.get_status = MakeError(absl::StatusCode::kNotFound, "there is no job zzz",
                                    {.reason = "JOB_NOT_FOUND", .metadata = {}, .violations = {}});
  ExpectUsage({"show", "zzz"}, "there is no job zzz");
  ExpectUsage({"cancel", "zzz"}, "there is no job zzz");
}

TEST_F(CommandsTest, KernelsDevicesVersion) {
  fake_.devices.kernels = Parse<kbench::v1::ListKernelsResponse>(
      R"(kernels { name: "sum" summary: "Adds." dtypes: "fp32" size_help: "N"
           implementations { name: "cpu/naive" dtypes: "fp32" default_choice: true }
           implementations { name: "selftest/a" dtypes: "fp32" hidden: true } }
         kernels { name: "copy" })");
  EXPECT_THAT(Run({"kernels"}).out, Not(HasSubstr("selftest")));
  EXPECT_THAT(Run({"kernels", "-o", "json"}).out,
              AllOf(HasSubstr("cpu/naive"), Not(HasSubstr("selftest"))));
  EXPECT_THAT(Run({"kernels", "sum"}).out,
              AllOf(StartsWith("sum: Adds.\n"), HasSubstr("cpu/naive"), Not(HasSubstr("copy"))));
  EXPECT_THAT(Run({"kernels"}).out, HasSubstr("\ncopy:\n  dtypes:"));
  ExpectUsage({"kernels", "som"}, "there is no kernel som; take one of sum, copy");
  EXPECT_THAT(Run({"devices"}).out, HasSubstr("no worker has connected yet"));
  fake_.devices.devices = Parse<kbench::v1::ListDevicesResponse>(
      R"(server_version: "9.8.7" devices { name: "gpu0" state: "WEDGED" state_message: "Xid 79"
           model: "NVIDIA H200" memory_bytes: 151397597184 cores: 132 hostname: "box" })");
  EXPECT_THAT(Run({"devices"}).out,
              AllOf(HasSubstr("gpu0    WEDGED  NVIDIA H200  141 GiB    132  box"),
                    HasSubstr("gpu0: Xid 79")));
  EXPECT_THAT(Run({"version"}).out, HasSubstr("kbench-server 9.8.7 on unix:/fake.sock"));
}

TEST_F(CommandsTest, KernelsTellWhichRungRunsUnasked) {
  const auto one = [](const std::string& name, const std::string& dtypes, int rung,
                      const std::string& more = "default_choice: true") {
    return "implementations { name: \"" + name + "\" family: \"" + name.substr(0, name.find('/')) +
           "\" rung: " + std::to_string(rung) + " " + dtypes + " " + more + " } ";
  };
  const std::string both = R"(dtypes: "fp32" dtypes: "fp16")";
  fake_.devices.kernels = Parse<kbench::v1::ListKernelsResponse>(
      R"(kernels { name: "matmul" )" + one("cuda/naive", both, 0) +
      one("cuda/register-tiled", R"(dtypes: "fp32")", 2) +
      one("cuda/wgmma", R"(dtypes: "fp16")", 5) + one("cublas", both, 0) +
      one("torch", both, 0, R"(default_choice: true environment: "default")") +
      one("torch/compile", R"(dtypes: "fp32")", 1,
          R"(default_choice: true environment: "default")") +
      one("torch@old", both, 9, R"(environment: "old")") + R"(} kernels { name: "copy" )" +
      one("odd", both, 0, "") + "}");
  const std::string out = Run({"kernels"}).out;
  const auto says = [&](const std::string& name, const std::string& word) {
    const std::size_t at = out.find("\n  " + name + " ");
    ASSERT_NE(at, std::string::npos) << name << " is not in\n" << out;
    std::istringstream row(out.substr(at + 3 + name.size()));
    std::string cell;
    row >> cell;
    EXPECT_EQ(cell, word) << name;
  };
  says("cuda/naive", "no");
  says("cuda/register-tiled", "yes");
  says("cuda/wgmma", "yes");
  says("cublas", "yes");
  says("torch", "fp16");
  says("torch/compile", "yes");
  says("torch@old", "no");
  says("odd", "yes");  // nothing of the kernel is chosen, so all of it runs
}

// A report is of one device, so of several that fit one is chosen beforehand and said.
TEST_F(CommandsTest, AReportIsMeasuredOnOneDevice) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "report_config";
  std::filesystem::create_directories(folder / "kbench" / "suites");
  std::ofstream(folder / "kbench" / "suites" / "one.textproto")
      << R"(name: "one" entries { kernels: "matmul" dtypes: "fp16" sizes: "4096" })";
  setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
  fake_.devices.devices = Parse<kbench::v1::ListDevicesResponse>(
      R"(devices { name: "gpu0" kind: "cuda" state: "BUSY" }
         devices { name: "gpu1" kind: "cuda" state: "READY" }
         devices { name: "cpu" kind: "cpu" state: "READY" })");
  PrepareJob();
  const Ran ran = Run({"report", "roi", "--suite", "one"});
  unsetenv("XDG_CONFIG_HOME");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("measuring on gpu1, one of gpu0, gpu1; choose with --device"));
  ASSERT_EQ(fake_.jobs.submitted.size(), 2u) << "asked whether it would be taken, then submitted";
  for (const auto& request : fake_.jobs.submitted) EXPECT_EQ(request.spec().device(), "gpu1");
  EXPECT_THAT(ran.out, HasSubstr("# What abstractions cost on NVIDIA H200\n"));
  EXPECT_THAT(ran.out, HasSubstr("1 row of 1 case: 1 OK, 1 of them VALID."));
  EXPECT_THAT(ran.out, HasSubstr("kbench-client report roi --jobs k3f9x2ab\n"));
}

TEST_F(CommandsTest, AbsentFrameworksAreALineEach) {
  fake_.devices.kernels = Parse<kbench::v1::ListKernelsResponse>(
      R"(kernels { name: "sum" }
         absent { device: "gpu0" framework { framework: "torch" environment: "old"
           message: "torch 2.1 is too old; 2.4 or newer" install: "/x/python -m pip install torch" } }
         absent { device: "cpu" framework { framework: "torch" environment: "default"
           message: "its runner is being started" starting: true } })");
  EXPECT_THAT(
      Run({"kernels"}).out,
      HasSubstr("\n\ngpu0: torch (old) is absent: torch 2.1 is too old; 2.4 or newer; install "
                "it with:\n    /x/python -m pip install torch\n"
                "cpu: torch (default): its runner is being started\n"));
  EXPECT_THAT(Run({"kernels", "-o", "json"}).out,
              AllOf(HasSubstr("{\"absent\":{\"device\":\"gpu0\""), HasSubstr("\"starting\":true")));
  fake_.devices.devices = Parse<kbench::v1::ListDevicesResponse>(
      R"(devices { name: "gpu0" state: "READY" absent { framework: "triton" environment: "default"
           message: "No module named 'triton'" } })");
  EXPECT_THAT(Run({"devices"}).out, Not(HasSubstr("triton")));
  EXPECT_THAT(Run({"devices", "-v"}).out,
              HasSubstr("  triton (default) is absent: No module named 'triton'\n"));
  EXPECT_THAT(Run({"devices", "-o", "json"}).out, HasSubstr("\"absent\":[{\"framework\""));
}

TEST_F(CommandsTest, EnvironmentsAreAskedForByName) {
  PrepareJob();
  Run({"submit", "matmul", "fp16", "4096", "--impl", "torch", "--env", "default,torch211"});
  ASSERT_FALSE(fake_.jobs.submitted.empty());
  const auto& spec = fake_.jobs.submitted.back().spec();
  ASSERT_EQ(spec.environments_size(), 2);
  EXPECT_EQ(spec.environments(1), "torch211");
  EXPECT_EQ(spec.implementations_size(), 1);
  ExpectUsage({"submit", "matmul", "fp16", "4096", "--env", ","}, "',' names no environment");
  fake_.jobs.submit_status =
      MakeError(absl::StatusCode::kInvalidArgument, "device gpu0 has no environment 'x'",
                {.reason = "UNKNOWN_ENVIRONMENT",
                 .metadata = {},
                 .violations = {{"spec.environments[0]", "device gpu0 has no environment 'x'"}}});
  ExpectUsage({"submit", "matmul", "fp16", "4096", "--env", "x"},
              "env: device gpu0 has no environment 'x'");
}

TEST_F(CommandsTest, DevicesShowTheirCalibrationWhenAsked) {
  fake_.devices.devices = Parse<kbench::v1::ListDevicesResponse>(
      R"(devices { name: "gpu0" state: "READY" model: "NVIDIA H200" calibration {
           passed: true event_floor_seconds: 1.28e-6 null_kernel_seconds: 3.3e-6
           quantum_seconds: 3.2e-8 flush_bytes: 100663296 read_bandwidth: 4.1e12
           timer_tick_seconds: 3.2e-8 event_cost_seconds: 2.1e-6 flush_cold_ratio: 1.9
           known_durations { expected_seconds: 5e-6 measured_seconds: 5.04e-6 allowed_seconds: 64e-9 }
           write_bandwidth: 4.2e12 copy_bandwidth: 4.3e12
           matmul_flops { key: "fp16" value: 8e14 } matmul_flops { key: "fp32" value: 5e13 }
           between_session_ratio: 0.0021 canaries: 9 } }
         devices { name: "gpu1" state: "CALIBRATING" model: "NVIDIA H200" })");
  EXPECT_THAT(Run({"devices"}).out,
              AllOf(HasSubstr("gpu1    CALIBRATING"), Not(HasSubstr("calibration"))));
  EXPECT_THAT(Run({"devices", "-v"}).out,
              AllOf(HasSubstr("gpu0:\n  calibration passed\n  an empty measurement reads 1.28"),
                    HasSubstr("a flush touches 96.0 MiB twice\n"), HasSubstr("memory: reads 4.1"),
                    HasSubstr("matmul: fp16 800"),
                    HasSubstr("the device's own timer ticks every 32.00 ns\n"),
                    HasSubstr("a kernel of 5.000 us was measured as 5.040 us (may differ by 64.00 "
                              "ns)\n"),
                    HasSubstr("a pair of events adds 2.100 us to a real kernel\n"),
                    HasSubstr("after a flush a read takes 1.90 times as long\n"),
                    HasSubstr("medians move by 0.21% between sessions (9 canaries)\n"),
                    HasSubstr("gpu1: not calibrated yet\n")));
  EXPECT_THAT(Run({"devices", "-o", "json"}).out, HasSubstr("\"between_session_ratio\":0.0021"));
}

TEST_F(CommandsTest, ArtifactsAreListedAndFetched) {
  fake_.results.artifacts = Parse<kbench::v1::ListArtifactsResponse>(
      R"(artifacts { name: "artifacts/k3f9x2ab-0-samples.json" size_bytes: 2048
                     media_type: "application/json" })");
  EXPECT_THAT(Run({"artifacts", "k3f9x2ab"}).out,
              HasSubstr("k3f9x2ab-0-samples.json  2.0 KiB  application/json"));
  EXPECT_EQ(Run({"artifacts", "k3f9x2ab", "--get", "0-samples.json"}).out,
            "one two of artifacts/k3f9x2ab-0-samples.json\n");
  ExpectUsage({"artifacts", "k3f9x2ab", "--get", "x"}, "nearest: k3f9x2ab-0-samples.json");
  std::string folder = ::testing::TempDir() + "/artifacts-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const Ran all = Run({"artifacts", "k3f9x2ab", "--all", folder + "/new"});
  EXPECT_EQ(all.code, 0) << all.err;
  std::ifstream file(folder + "/new/k3f9x2ab-0-samples.json");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "one two of artifacts/k3f9x2ab-0-samples.json");
  std::filesystem::remove_all(folder);
}

TEST(ConnectTest, NothingListensNamesTheCommandThatHelps) {
  std::string folder = ::testing::TempDir() + "/run-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  std::ostringstream out;
  std::ostringstream err;
  Io io{out, err};
  Interrupt interrupt;
  EXPECT_EQ(RunClient({"list"}, "", io, interrupt, Connect), 5);
  EXPECT_EQ(err.str(), "kbench-client: nothing listens on unix:" + folder +
                           "/kbench/kbench.sock; start the local stack with: kbench-client up\n");
  err.str("");
  EXPECT_EQ(RunClient({"list"}, "127.0.0.1:1", io, interrupt, Connect), 5);
  EXPECT_THAT(err.str(), HasSubstr("nothing listens on 127.0.0.1:1;"));
  err.str("");
  EXPECT_EQ(RunClient({"list", "--server", "nonsense"}, "127.0.0.1:1", io, interrupt, Connect), 2);
  EXPECT_THAT(err.str(), HasSubstr("'nonsense' is not an address"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kbench::client
