// Suites: reading them, what they stand for, how long they take. The verb against a coordinator in
// this process.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/errors.h"
#include "client/suites/suite_check.h"
#include "client/suites/suite_estimate.h"
#include "client/suites/suite_file.h"
#include "client/suites/suite_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EndedCase;
using testing::Event;
using testing::FakeCoordinator;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OkRow;
using testing::Parse;
using ::testing::StartsWith;

constexpr char kGood[] = R"(name: "mine"
summary: "Two."
entries { kernels: ["sum", "copy"] dtypes: "fp32" sizes: "1Ki..4Ki*2" }
entries { kernels: "matmul" dtypes: "fp32,tf32" sizes: ["64", "m=1,n=64,k=64"] modes: "hot"
          target: "2%" }
)";

SuiteFile Good(const std::string& text) {
  auto file = ParseSuite("mine.textproto", text);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : SuiteFile{};
}

std::vector<std::string> Lines(const std::string& text) {
  const auto file = ParseSuite("mine.textproto", text);
  return file.ok() ? std::vector<std::string>{"no error"} : ErrorLines(file.status());
}

std::vector<std::string> Faults(const std::string& entry) {
  return PlanSuite(Good("name: \"mine\"\n\nentries { " + entry + " }"), {}).faults;
}

TEST(SuiteFileTest, EntriesKnowTheirLines) {
  const SuiteFile file = Good(kGood);
  EXPECT_EQ(file.suite.name(), "mine");
  EXPECT_THAT(file.entry_lines, ElementsAre(3, 4));
}

TEST(SuiteFileTest, WhatDoesNotParseIsToldWithItsPlace) {
  EXPECT_THAT(Lines("name: \"mine\"\nentries {\n  kernel: \"sum\"\n}\n"),
              ElementsAre(AllOf(StartsWith("mine.textproto:3:9: "), HasSubstr("named \"kernel\""),
                                HasSubstr("It has kernels, dtypes, sizes, modes"))));
  EXPECT_THAT(Lines("nam: \"mine\""), ElementsAre(AllOf(StartsWith("mine.textproto:1:4: "),
                                                        HasSubstr("It has name, summary"))));
  EXPECT_THAT(Lines("name: \"mine\"\nentries { dtypes: 5 }"),
              ElementsAre(AllOf(StartsWith("mine.textproto:2:19: "), HasSubstr("string"))));
  EXPECT_THAT(Lines("name: \"mine\"\nentries {"), ElementsAre(StartsWith("mine.textproto:2:")));
  EXPECT_THAT(Lines("\x01{"), Not(ElementsAre("no error")));
  EXPECT_THAT(Lines("# \xc2\xb5s\n\xff"), ElementsAre("mine.textproto:2: is not UTF-8 text"));
  EXPECT_THAT(Lines("# \xe2\x82"), ElementsAre("mine.textproto:1: is not UTF-8 text"));
}

TEST(SuiteFileTest, NamesAreThoseOfTheirFiles) {
  EXPECT_THAT(Lines("entries {}"), ElementsAre(HasSubstr("'' is no name of a suite")));
  EXPECT_THAT(Lines("name: \"My Suite\" entries {}"), ElementsAre(HasSubstr("small letters")));
  EXPECT_THAT(Lines("name: \"other\" entries {}"),
              ElementsAre(HasSubstr("call it \"mine\", or the file other.textproto")));
  EXPECT_THAT(Lines("name: \"mine\""), ElementsAre(HasSubstr("has no entries")));
}

TEST(SuitePlanTest, EntriesOfOnePolicyAreOneJob) {
  const SuitePlan plan = PlanSuite(Good(kGood), {.device = "gpu0", .labels = {"team=a"}});
  EXPECT_THAT(plan.faults, IsEmpty());
  ASSERT_EQ(plan.jobs.size(), 2U);
  EXPECT_EQ(plan.cases, 10);
  EXPECT_EQ(plan.jobs[0].cases_size(), 6);
  EXPECT_EQ(plan.jobs[0].cases(2).ShortDebugString(),
            R"(kernel: "sum" dtype: "fp32" size: "4096")");
  EXPECT_EQ(plan.jobs[1].cases(3).size(), "m=1,n=64,k=64");
  EXPECT_EQ(plan.jobs[1].cases(0).mode(), "hot");
  EXPECT_DOUBLE_EQ(plan.jobs[1].policy().target_ratio(), 0.02);
  EXPECT_EQ(plan.jobs[0].priority_class(), "batch");
  for (const auto& job : plan.jobs) {
    EXPECT_EQ(job.device(), "gpu0");
    EXPECT_EQ(job.labels().at("suite"), "mine");
    EXPECT_EQ(job.labels().at("team"), "a");
  }
  EXPECT_EQ(PlanSuite(Good(kGood), {.quick = true}).jobs.size(), 1U) << "one precision for all";
}

TEST(SuitePlanTest, ImplementationsAndEnvironmentsAreOfTheWholeJob) {
  const SuitePlan plan = PlanSuite(Good(R"(name: "mine"
    entries { kernels: "sum" dtypes: "fp32" sizes: "1" implementations: "torch" }
    entries { kernels: "sum" dtypes: "fp32" sizes: "2" }
    entries { kernels: "sum" dtypes: "fp32" sizes: "3" implementations: "torch" }
    entries { kernels: "sum" dtypes: "fp32" sizes: "4" implementations: "torch"
              environments: ["default", "b"] })"),
                                   {});
  ASSERT_EQ(plan.jobs.size(), 3U);
  EXPECT_EQ(plan.jobs[0].cases_size(), 2);
  EXPECT_THAT(plan.jobs[2].environments(), ElementsAre("default", "b"));
}

TEST(SuitePlanTest, ACaseThatStandsTwiceIsMeasuredOnce) {
  const SuitePlan plan = PlanSuite(Good(R"(name: "mine"
    entries { kernels: "matmul" dtypes: "fp32" sizes: ["64", "64x64x64"] }
    entries { kernels: "matmul" dtypes: "fp32" sizes: "m=64,n=64,k=64" modes: ["cold", "hot"] })"),
                                   {});
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs[0].cases_size(), 2);
}

TEST(SuitePlanTest, AJobHasAtMostAThousandCases) {
  const SuitePlan plan = PlanSuite(
      Good(R"(name: "mine" entries { kernels: "sum" dtypes: "fp32" sizes: "1..2500+1" })"), {});
  ASSERT_EQ(plan.jobs.size(), 3U);
  EXPECT_EQ(plan.cases, 2500);
  EXPECT_EQ(plan.jobs[2].cases_size(), 500);
}

TEST(SuitePlanTest, FaultsNameTheEntryAndWhatWouldBeRight) {
  EXPECT_THAT(Faults(R"(kernels: "mtmul" dtypes: "fp32" sizes: "64")"),
              ElementsAre(AllOf(StartsWith("mine.textproto:3: entry 1: kernel: "),
                                HasSubstr("'mtmul'"), HasSubstr("nearest: matmul"))));
  EXPECT_THAT(Faults(R"(kernels: ["sum", "matmul"] dtypes: "tf32" sizes: ["64", "128"])"),
              ElementsAre(AllOf(HasSubstr("dtype: kernel sum has no dtype tf32"),
                                HasSubstr("nearest: fp32"))))
      << "once, not for each size";
  EXPECT_THAT(Faults(R"(kernels: "sum" dtypes: "fp32" sizes: "2xb" modes: "cool")"),
              Not(IsEmpty()));
  EXPECT_THAT(Faults(R"(kernels: "sum" dtypes: "fp32" sizes: "64" modes: "cool")"),
              ElementsAre(AllOf(HasSubstr("mode: there is no mode 'cool'"), HasSubstr("cold"))));
  EXPECT_THAT(Faults(R"(kernels: "sum" dtypes: "fp32" sizes: "9..2*2")"),
              ElementsAre(HasSubstr("entry 1: size: ")));
  EXPECT_THAT(Faults(R"(kernels: "sum")"),
              ElementsAre(HasSubstr("dtypes: none given"), HasSubstr("sizes: none given")));
  EXPECT_THAT(
      Faults(
          R"(kernels: "sum" dtypes: "fp32" sizes: "1" target: "90%" margin: "60%" budget: "2h")"),
      ElementsAre(HasSubstr("target: 90% is outside 0.05% to 50%"), HasSubstr("margin: 60%"),
                  HasSubstr("budget: 2h is outside 1s to 1h")));
  EXPECT_THAT(Faults(R"(kernels: "sum" dtypes: "fp32" sizes: "1" budget: "soon")"),
              ElementsAre(HasSubstr("budget: 'soon' is not a duration")));
}

kbench::v1::ListDevicesResponse TwoDevices() {
  return Parse<kbench::v1::ListDevicesResponse>(R"(
    devices { name: "cpu" kind: "cpu"
      implementations { name: "cpu/naive" family: "cpu" kernel: "sum" dtypes: "fp32" } }
    devices { name: "gpu0" kind: "cuda" uuid: "GPU-1"
      implementations { name: "cuda/tiled" family: "cuda" kernel: "matmul" dtypes: "fp32" }
      implementations { name: "torch@b" family: "torch" kernel: "matmul" dtypes: "fp32"
                        environment: "b" } })");
}

TEST(SuiteCheckTest, WhatNoDeviceHasIsSaid) {
  EXPECT_THAT(MissingOnDevices(Good(R"(name: "mine"
    entries { kernels: "sum,matmul" dtypes: "fp32" sizes: "1"
              implementations: ["cpu,cuda/tiled", "all", "torch@b"] environments: "b" }
    entries { kernels: "matmul" dtypes: "fp32,tf32" sizes: "1"
              implementations: ["triton-aot", "torch@c"] environments: "c" })")
                                   .suite,
                               TwoDevices()),
              ElementsAre("entry 2: no device has an implementation of matmul for tf32",
                          "entry 2: no device has the implementation triton-aot",
                          "entry 2: no device has the implementation torch@c",
                          "entry 2: no device has the environment c"));
}

TEST(SuiteEstimateTest, DevicesOfASelector) {
  const auto known = TwoDevices();
  EXPECT_THAT(DevicesFor(known, ""), ElementsAre("gpu0"));
  EXPECT_THAT(DevicesFor(known, "cpu"), ElementsAre("cpu"));
  EXPECT_THAT(DevicesFor(known, "gpu"), ElementsAre("gpu0"));
  EXPECT_THAT(DevicesFor(known, "GPU-1"), ElementsAre("gpu0"));
  EXPECT_THAT(DevicesFor(known, "gpu7"), IsEmpty());
}

// Two cases of sum on gpu0: one took 9 s, one waits.
kbench::v1::Job SumJob(const std::string& more = "") {
  return Parse<kbench::v1::Job>(R"(
    cases_done: 1
    spec { cases { kernel: "sum" dtype: "fp32" size: "1Ki" }
           cases { kernel: "sum" dtype: "fp32" size: "2Ki" } )" +
                                more + R"( }
    cases { spec { kernel: "sum" dtype: "fp32" size: "1Ki" shape: "n=1024" mode: "cold" }
            state: JOB_STATE_SUCCEEDED device: "gpu0"
            start_time { seconds: 100 } end_time { seconds: 109 } }
    cases { spec { kernel: "sum" dtype: "fp32" size: "2Ki" shape: "n=2048" mode: "cold" }
            state: JOB_STATE_QUEUED })");
}

TEST(SuiteEstimateTest, HistoryWhereThereIsOneElseARule) {
  const auto jobs = PlanSuite(Good(R"(name: "mine"
    entries { kernels: "sum" dtypes: "fp32" sizes: "1024,2048" }
    entries { kernels: "sum" dtypes: "fp32" sizes: "1024" implementations: "cub" budget: "2s" })"),
                              {})
                        .jobs;
  CaseHistory history({"gpu0"});
  EXPECT_TRUE(history.MayTell(SumJob(), jobs));
  EXPECT_FALSE(history.MayTell(SumJob("implementations: \"cpu\""), jobs));
  history.Add(SumJob());
  EXPECT_TRUE(history.MayTell(SumJob(), jobs)) << "n=2048 is still to be found";
  const Estimate estimate = EstimateJobs(jobs, history);
  EXPECT_EQ(estimate.cases, 3);
  EXPECT_EQ(estimate.remembered, 1) << "other implementations are another measurement";
  EXPECT_DOUBLE_EQ(estimate.seconds, 9 + 4 + 2);
  EXPECT_DOUBLE_EQ(estimate.most_seconds, 60 + 60 + 2);
  CaseHistory elsewhere({"cpu"});
  elsewhere.Add(SumJob());
  EXPECT_EQ(EstimateJobs(jobs, elsewhere).remembered, 0);
  CaseHistory coarse({"gpu0"});
  coarse.Add(SumJob("policy { target_ratio: 0.02 }"));
  EXPECT_EQ(EstimateJobs(jobs, coarse).remembered, 0) << "as is another precision";
  EXPECT_THAT(EstimateText(estimate),
              AllOf(StartsWith("15 s on one device (1 of 3 cases as long as their last run"),
                    HasSubstr("at most 2.0 min")));
}

TEST(SuiteEstimateTest, TheQueueAheadIsOfTheSameDevices) {
  const auto known = TwoDevices();
  const std::vector<kbench::v1::Job> waiting = {SumJob(), SumJob("device: \"cpu\""),
                                                SumJob("priority: 100 priority_class: \"batch\"")};
  const Ahead ahead = AheadOf(waiting, known, {"gpu0"}, CaseHistory());
  EXPECT_EQ(ahead.jobs, 1);
  EXPECT_EQ(ahead.cases, 1) << "the ended one is not ahead";
  EXPECT_DOUBLE_EQ(ahead.seconds, 4);
  EXPECT_THAT(AheadText(ahead, {"gpu0"}), HasSubstr("on gpu0, behind 1 case of 1 job"));
  EXPECT_THAT(AheadText({}, {"gpu0"}), StartsWith("none"));
  EXPECT_THAT(AheadText({}, {}), HasSubstr("none is known"));
}

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

class SuiteCommandTest : public ::testing::Test {
 protected:
  SuiteCommandTest() {
    folder_ = fs::path(::testing::TempDir()) / "kbench-suite-test";
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "kbench/suites");
    setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    Write("mine", kGood);
    fake_.devices.devices = TwoDevices();
  }
  ~SuiteCommandTest() override {
    unsetenv("XDG_CONFIG_HOME");
    fs::remove_all(folder_);
  }

  fs::path Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / "kbench/suites" / (name + ".textproto");
    std::ofstream(path) << text;
    return path;
  }
  Ran Run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    Io io{out, err};
    Interrupt interrupt;
    const int code = fake_.Run(arguments, io, interrupt);
    return {code, out.str(), err.str()};
  }
  std::vector<int> Queued() {  // cases of each job that was not only validated
    std::vector<int> counts;
    for (const auto& request : fake_.jobs.submitted) {
      if (!request.validate_only()) counts.push_back(request.spec().cases_size());
    }
    return counts;
  }

  fs::path folder_;
  FakeCoordinator fake_;
};

TEST_F(SuiteCommandTest, ListShowsOwnAndInstalledOnes) {
  Write("smoke", "name: \"smoke\" entries { kernels: \"sum\" dtypes: \"fp32\" sizes: \"1\" }");
  Write("broken", "name: 5");
  const Ran ran = Run({"suite", "list"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\nmine "), HasSubstr(" user "), HasSubstr("\nessay "),
                             HasSubstr(" installed "), HasSubstr("suite check broken")));
  EXPECT_THAT(ran.out, HasSubstr("/kbench/suites/smoke.textproto: hides "));
  const Ran json = Run({"suite", "list", "-o", "json"});
  EXPECT_THAT(json.out, HasSubstr(R"("cases":10)"));
}

TEST_F(SuiteCommandTest, InstalledSuitesAreGood) {
  for (const FoundSuite& one : FindSuites({SuiteFolders()[1]})) {
    const Ran ran = Run({"suite", "check", one.name});
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}

TEST_F(SuiteCommandTest, CheckSaysWhatNoDeviceHas) {
  const Ran ran = Run({"suite", "check", "mine"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("good, 10 cases in 2 jobs"),
                             HasSubstr("entry 1: no device has an implementation of copy")));
  Write("bad", "name: \"bad\"\nentries { kernels: \"sum\" dtypes: \"fp61\" sizes: \"1\" }");
  const Ran bad = Run({"suite", "check", "mine", "bad"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("bad.textproto:2: entry 1: dtype: "));
  EXPECT_THAT(bad.out, HasSubstr("mine.textproto: good"));
}

TEST_F(SuiteCommandTest, DryRunSubmitsNothing) {
  fake_.jobs.job = SumJob();
  const Ran ran = Run({"suite", "run", "mine", "--dry-run", "--quick"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(StartsWith("mine: 10 cases in 1 job\n"), HasSubstr("n=4096"),
                             HasSubstr("target 2.00%"), HasSubstr("\nestimated time: 40 s"),
                             HasSubstr("\nwait: about "), HasSubstr("\nnothing was submitted\n")));
  EXPECT_THAT(Queued(), IsEmpty());
  EXPECT_EQ(fake_.jobs.submitted.size(), 1U) << "but it was asked whether it would be taken";
}

TEST_F(SuiteCommandTest, RunFollowsEachJobAndTheWorstCodeCounts) {
  fake_.jobs.job = Parse<kbench::v1::Job>(R"(name: "jobs/a" state: JOB_STATE_QUEUED)");
  for (const std::string verdict : {"VERDICT_SUSPECT", "VERDICT_VALID"}) {
    std::string row = OkRow("cublas");
    row.replace(row.find("VERDICT_VALID"), std::string("VERDICT_VALID").size(), verdict);
    fake_.jobs.streams.push_back(
        {.events = {Event(R"(final { name: "jobs/a" state: JOB_STATE_SUCCEEDED cases { )" +
                          EndedCase("results { " + row + "}") + " } }")}});
  }
  const Ran ran = Run({"suite", "run", "mine", "-o", "csv", "--label", "a=b"});
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 3) << "one header: " << ran.out;
  EXPECT_THAT(Queued(), ElementsAre(6, 4));
  EXPECT_EQ(fake_.jobs.submitted.back().spec().labels().at("suite"), "mine");
  EXPECT_EQ(fake_.jobs.submitted.back().spec().labels().at("a"), "b");
}

TEST_F(SuiteCommandTest, DetachPrintsEachJob) {
  fake_.jobs.job = Parse<kbench::v1::Job>(R"(name: "jobs/a" state: JOB_STATE_QUEUED)");
  const Ran ran = Run({"suite", "run", "mine", "--detach"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "a\na\n");
  EXPECT_TRUE(fake_.jobs.watched.empty());
}

TEST_F(SuiteCommandTest, WhatTheCoordinatorRefusesQueuesNothing) {
  fake_.jobs.submit_status = absl::InvalidArgumentError("no such device");
  for (const char* more : {"--dry-run", "--detach"}) {
    const Ran ran = Run({"suite", "run", "mine", more});
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("no such device"));
  }
  EXPECT_THAT(Queued(), IsEmpty());
}

TEST_F(SuiteCommandTest, WrongUseIsOneLine) {
  const auto expect = [&](const std::vector<std::string>& words, const std::string& part) {
    std::vector<std::string> arguments = {"suite"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(part));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
  };
  expect({}, "ACTION is required");
  expect({"walk"},
         "take list, check, run, schedule, schedules, pause, continue or unschedule, "
         "not walk");
  expect({"run"}, "takes one suite");
  expect({"run", "mine", "smoke"}, "takes one suite");
  expect({"run", "mnie"}, "there is no suite mnie; nearest: mine");
  expect({"run", "./mine.textproto"}, "a path goes with --file");
  expect({"run", "--file", "/nonexistent.textproto"}, "cannot be read");
  expect({"check", "--file", "/dev/zero"}, "is no file");
  expect({"run", "mine", "--label", "x"}, "label: 'x' is not a label");
  expect({"run", "mine", "--against", "unix:/x"}, "--against goes with check");
  expect({"run", "mine", "--dry-run", "-o", "csv"}, "a table or json, not csv");
  expect({"list", "mine"}, "list takes no name");
  expect({"list", "--quick"}, "--quick goes with run");
  expect({"check", "-o", "json"}, "without -o");
}

}  // namespace
}  // namespace kbench::client
