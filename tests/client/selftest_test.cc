// The selftest's judgement line by line, and the verb against a coordinator in this process.
#include <algorithm>
#include <sstream>

#include "client/selftest/checks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using selftest::Check;
using selftest::PairRun;
using selftest::State;
using ::testing::AllOf;
using testing::Event;
using testing::FakeCoordinator;
using ::testing::HasSubstr;
using testing::Parse;

const Check& Named(const std::vector<Check>& checks, const std::string& name) {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [&](const Check& check) { return check.name == name; });
  EXPECT_NE(found, checks.end()) << name;
  return *found;
}

constexpr char kCalibrated[] = R"(
  name: "gpu0" kind: "cuda" model: "NVIDIA H200" driver: "580.1" hostname: "box" peak_bandwidth: 4.8e12
  calibration {
    passed: true seconds: 3.2 event_floor_seconds: 1.28e-6 null_kernel_seconds: 3.3e-6
    quantum_seconds: 32e-9 event_cost_seconds: 2.1e-6
    known_durations { expected_seconds: 5e-6 measured_seconds: 5.04e-6 allowed_seconds: 64e-9 }
    known_durations { expected_seconds: 5e-3 measured_seconds: 5.01e-3 allowed_seconds: 50e-6 }
    flush_bytes: 125829120 flush_cold_ratio: 1.9
    read_bandwidth: 4.2e12 write_bandwidth: 4.3e12 copy_bandwidth: 4.1e12
    matmul_flops { key: "fp16" value: 7.9e14 } between_session_ratio: 0.0012 canaries: 9 })";

TEST(CalibrationChecks, AllOfAGoodDevice) {
  const auto checks = selftest::CalibrationChecks(Parse<kbench::v1::Device>(kCalibrated));
  EXPECT_TRUE(selftest::AllPassed(checks));
  EXPECT_EQ(Named(checks, "stopwatch").text,
            "reads 1.280 us around nothing and 3.300 us around an empty kernel, in steps of "
            "32.00 ns");
  EXPECT_EQ(Named(checks, "known duration").text,
            "5.000 us by the device's own timer was measured as 5.040 us (may differ by 64.00 ns)");
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(),
                          [](const Check& check) { return check.name == "known duration"; }),
            2);
  EXPECT_THAT(Named(checks, "sessions").text, HasSubstr("0.12% between sessions (9 canaries)"));
  EXPECT_EQ(Named(checks, "matmul").text, "fp16 790.0 TFLOP/s");
  EXPECT_EQ(Named(checks, "calibration").text, "passed (3.2 s)") << "it may be a stored one";
  EXPECT_THAT(Named(checks, "flush").text, HasSubstr("; it touches twice 120 MiB"));
}

TEST(CalibrationChecks, EachFaultFails) {
  const auto fails = [](const std::string& name, auto change) {
    auto device = Parse<kbench::v1::Device>(kCalibrated);
    change(*device.mutable_calibration());
    const auto checks = selftest::CalibrationChecks(device);
    EXPECT_FALSE(selftest::AllPassed(checks)) << name;
    EXPECT_EQ(Named(checks, name).state, State::kFail) << name;
  };
  fails("calibration", [](auto& c) {
    c.set_passed(false);
    c.set_failed_step("flush");
  });
  fails("known duration",
        [](auto& c) { c.mutable_known_durations(0)->set_measured_seconds(5.07e-6); });
  fails("flush", [](auto& c) { c.set_flush_cold_ratio(1.01); });
  fails("memory", [](auto& c) { c.set_read_bandwidth(5.1e12); });
  fails("calibration", [](auto& c) { c.Clear(); });
  EXPECT_FALSE(selftest::AllPassed(selftest::CalibrationChecks({}))) << "not calibrated at all";
}

TEST(CalibrationChecks, WhatADeviceLacksIsANote) {
  const auto checks = selftest::CalibrationChecks(
      Parse<kbench::v1::Device>("kind: \"cpu\" calibration { passed: true seconds: 1 }"));
  EXPECT_TRUE(selftest::AllPassed(checks));
  EXPECT_EQ(Named(checks, "stopwatch").state, State::kNote);
  EXPECT_EQ(Named(checks, "flush").state, State::kNote);
  EXPECT_EQ(Named(checks, "memory").state, State::kNote);
  EXPECT_THAT(Named(checks, "sessions").text, HasSubstr("0.3%"));
  const auto flushed = selftest::CalibrationChecks(Parse<kbench::v1::Device>(
      "kind: \"cpu\" calibration { passed: true flush_cold_ratio: 2 canaries: 1 }"));
  EXPECT_EQ(Named(flushed, "flush").text,
            "after it a read takes 2.00 times as long as from the cache");
  EXPECT_THAT(Named(flushed, "sessions").text, HasSubstr("1 canary so far"));
}

TEST(CopyElements, ACopyTakes4To8Microseconds) {
  for (const double bandwidth : {12e9, 300e9, 4.1e12}) {
    kbench::v1::Device device;
    device.mutable_calibration()->set_copy_bandwidth(bandwidth);
    const double copy = 8.0 * static_cast<double>(selftest::CopyElements(device)) / bandwidth;
    EXPECT_GE(copy, 4e-6) << bandwidth;
    EXPECT_LE(copy, 8e-6) << bandwidth;
  }
  kbench::v1::Device slow;  // never less than two tiles of the CPU's fixture
  slow.mutable_calibration()->set_copy_bandwidth(1e9);
  EXPECT_EQ(selftest::CopyElements(slow), 1 << 12);
}

PairRun MakeRun(const std::string& verdict, double median = 200e-6) {
  PairRun run;
  run.measured = true;
  run.verdict = verdict;
  run.speedup = 0.98;
  auto* time = run.first.mutable_device_time();
  time->set_median(median);
  time->set_low(median * 0.999);
  time->set_high(median * 1.001);
  time->set_history_low(median * 0.99);
  time->set_history_high(median * 1.01);
  return run;
}

TEST(RunChecks, AllGood) {
  const auto checks = selftest::RunChecks(std::vector<PairRun>(20, MakeRun("equivalent")),
                                          std::vector<PairRun>(20, MakeRun("slower")));
  EXPECT_TRUE(selftest::AllPassed(checks));
  EXPECT_EQ(Named(checks, "same twice").text,
            "0 of 20 pairs of the same copy were called faster or slower (at most 1); "
            "20 equivalent, 0 inconclusive");
  EXPECT_EQ(Named(checks, "2% more work").text,
            "20 of 20 copies with 2% more work were found slower (at least 19); typically at "
            "0.980x");
  EXPECT_THAT(Named(checks, "coverage").text, HasSubstr("40 of 40 intervals"));
}

TEST(RunChecks, EachFaultFails) {
  const std::vector<PairRun> same(20, MakeRun("equivalent"));
  const std::vector<PairRun> slower(20, MakeRun("slower"));
  auto bad = same;
  bad[0].verdict = "faster";
  EXPECT_TRUE(selftest::AllPassed(selftest::RunChecks(bad, slower))) << "one is bad luck";
  bad[1].verdict = "slower";
  EXPECT_EQ(Named(selftest::RunChecks(bad, slower), "same twice").state, State::kFail);

  bad = slower;
  bad[0].verdict = "inconclusive";
  EXPECT_TRUE(selftest::AllPassed(selftest::RunChecks(same, bad)));
  bad[1].verdict = "faster";
  EXPECT_EQ(Named(selftest::RunChecks(same, bad), "2% more work").state, State::kFail);

  bad = same;
  for (int i = 0; i < 5; ++i) bad[static_cast<std::size_t>(i)] = MakeRun("equivalent", 250e-6);
  const auto checks = selftest::RunChecks(bad, slower);
  EXPECT_EQ(Named(checks, "coverage").state, State::kFail);
  EXPECT_THAT(Named(checks, "coverage").text, HasSubstr("35 of 40"));
  EXPECT_THAT(Named(checks, "medians").text, HasSubstr("all within 25.0%"));

  bad = same;
  bad[3].measured = false;
  EXPECT_EQ(Named(selftest::RunChecks(bad, slower), "pairs").state, State::kFail);
  const std::vector<PairRun> none(3);
  EXPECT_FALSE(selftest::AllPassed(selftest::RunChecks(none, none)));
}

TEST(RunChecks, FewPairsTellNothingOfTheSameTwice) {
  const std::vector<PairRun> slower(20, MakeRun("slower"));
  std::vector<PairRun> same = {MakeRun("slower")};
  const auto one = selftest::RunChecks(same, slower);
  EXPECT_EQ(Named(one, "same twice").state, State::kNote);
  EXPECT_THAT(Named(one, "same twice").text, HasSubstr("too few pairs to tell (20 at least)"));
  same.push_back(MakeRun("faster"));
  EXPECT_EQ(Named(selftest::RunChecks(same, slower), "same twice").state, State::kFail);
  same.assign(19, MakeRun("equivalent"));
  EXPECT_EQ(Named(selftest::RunChecks(same, slower), "same twice").state, State::kNote);
  same.assign(20, MakeRun("equivalent"));
  EXPECT_EQ(Named(selftest::RunChecks(same, slower), "same twice").state, State::kPass);
}

TEST(RunChecks, FewPairsTellNothingOfTwoPercent) {
  const std::vector<PairRun> same(20, MakeRun("equivalent"));
  const auto few = selftest::RunChecks(same, std::vector<PairRun>(1, MakeRun("slower")));
  EXPECT_EQ(Named(few, "2% more work").state, State::kNote);
  EXPECT_THAT(Named(few, "2% more work").text, HasSubstr("too few pairs to tell (20 at least)"));
  const auto missed = selftest::RunChecks(same, std::vector<PairRun>(1, MakeRun("equivalent")));
  EXPECT_EQ(Named(missed, "2% more work").state, State::kFail);
}

class SelftestTest : public ::testing::Test {
 protected:
  SelftestTest() {
    *fake_.devices.devices.add_devices() = Parse<kbench::v1::Device>("name: \"cpu\" kind: \"cpu\"");
    *fake_.devices.devices.add_devices() = Parse<kbench::v1::Device>(kCalibrated);
    fake_.jobs.job = Parse<kbench::v1::Job>(R"(name: "jobs/t" state: JOB_STATE_QUEUED)");
  }

  void Prepare(int pairs, const std::string& of_same, const std::string& of_slower) {
    fake_.jobs.streams.clear();
    fake_.results.comparisons.clear();
    for (const char* second : {"selftest/b", "selftest/slower"}) {
      for (int left = pairs; left > 0; left -= 10) {
        fake_.jobs.streams.push_back({.events = {Event(Ended(second, std::min(left, 10)))}});
      }
      for (int i = 0; i < pairs; ++i) {
        const bool same = second == std::string("selftest/b");
        fake_.results.comparisons.push_back(Parse<kbench::v1::BaselineComparison>(
            "speedup: 0.98 verdict: \"" + (same ? of_same : of_slower) + "\""));
      }
    }
  }

  // A job of so many pairs.
  static std::string Ended(const std::string& second, int pairs) {
    const auto row = [](const std::string& name, const std::string& implementation) {
      return "results { name: \"results/" + name + "\" implementation: \"" + implementation +
             "\" outcome: OUTCOME_OK device_time { median: 2e-4 low: 1.99e-4 high: 2.01e-4 "
             "history_low: 1.98e-4 history_high: 2.02e-4 } }";
    };
    std::string cases;
    for (int i = 0; i < pairs; ++i) {
      const std::string name = "t-" + std::to_string(i);
      cases += "cases { state: JOB_STATE_SUCCEEDED " + row(name + "-0", "selftest/a") +
               row(name + "-1", second) + " } ";
    }
    return "sequence: 2 final { name: \"jobs/t\" state: JOB_STATE_SUCCEEDED " + cases + "}";
  }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "selftest");
    Io io{out_, err_};
    Interrupt interrupt;
    return fake_.Run(arguments, io, interrupt);
  }

  FakeCoordinator fake_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(SelftestTest, APageThatPasses) {
  Prepare(12, "equivalent", "slower");
  EXPECT_EQ(Run({"--pairs", "12"}), 0) << out_.str() << err_.str();
  const std::string text = out_.str();
  EXPECT_THAT(text, HasSubstr("selftest of gpu0 (NVIDIA H200, driver 580.1) on box: copy fp32"));
  EXPECT_THAT(text, HasSubstr("same twice      -     0 of 12 pairs"));
  EXPECT_THAT(text, HasSubstr("\nPASS as far as 12 pairs can tell"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;

  ASSERT_EQ(fake_.jobs.submitted.size(), 4u) << "ten pairs a job";
  EXPECT_EQ(fake_.jobs.submitted[0].spec().cases_size(), 10);
  EXPECT_EQ(fake_.jobs.submitted[1].spec().cases_size(), 2);
  const auto& spec = fake_.jobs.submitted[0].spec();
  EXPECT_EQ(spec.device(), "gpu0") << "a GPU before a CPU";
  EXPECT_EQ(spec.cases(0).kernel(), "copy");
  EXPECT_EQ(spec.cases(0).size(), "2097152");
  EXPECT_THAT(spec.implementations(), ::testing::ElementsAre("selftest/a", "selftest/b"));
  EXPECT_DOUBLE_EQ(spec.policy().target_ratio(), 0.02);
  EXPECT_THAT(fake_.jobs.submitted[3].spec().implementations(),
              ::testing::ElementsAre("selftest/a", "selftest/slower"));
  ASSERT_EQ(fake_.results.compared.size(), 24u) << "one request a pair: no family to hide in";
  EXPECT_EQ(fake_.results.compared[0].pairs(0).a(), "results/t-0-1");
  EXPECT_EQ(fake_.results.compared[0].pairs(0).b(), "results/t-0-0");
}

TEST_F(SelftestTest, ADeviceThatHasJustComeUpIsWaitedFor) {
  Prepare(1, "equivalent", "slower");
  for (int i = 0; i < 3; ++i) {
    *fake_.devices.earlier.emplace_back().add_devices() =
        Parse<kbench::v1::Device>("name: \"gpu0\" kind: \"cuda\" state: \"CALIBRATING\"");
  }
  EXPECT_EQ(Run({"--pairs", "1"}), 0) << out_.str() << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("gpu0 is being calibrated: waiting for it\n"));
  EXPECT_THAT(err_.str(), HasSubstr("selftest/b against selftest/a: 1 of 1 pairs\n"));
  EXPECT_EQ(fake_.jobs.submitted[0].spec().cases(0).size(), "2097152") << "by its calibration";
}

TEST_F(SelftestTest, ADeviceWhoseCalibrationFailedIsToldAtOnce) {
  auto& gpu = *fake_.devices.devices.mutable_devices(1);
  gpu.set_state("FAILED");
  gpu.mutable_calibration()->set_passed(false);
  gpu.mutable_calibration()->set_failed_step("flush");
  gpu.mutable_calibration()->set_message("too warm");
  EXPECT_EQ(Run({}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("failed at flush: too warm"));
  EXPECT_TRUE(fake_.jobs.submitted.empty()) << "it would wait for ever";
}

TEST_F(SelftestTest, ADeviceThatIsAwayIsNamedAtOnce) {
  for (const char* state : {"OFFLINE", "WEDGED"}) {
    err_.str("");
    auto& gpu = *fake_.devices.devices.mutable_devices(1);
    gpu.set_state(state);
    gpu.set_state_message("its worker is not connected");
    EXPECT_EQ(Run({}), 5) << state;
    EXPECT_THAT(err_.str(), HasSubstr(std::string("gpu0 is ") + state +
                                      ": its worker is not connected; selftest needs"));
  }
  EXPECT_TRUE(fake_.jobs.submitted.empty()) << "it would wait for ever";
}

TEST_F(SelftestTest, AFixtureThatIsNotFoundFails) {
  Prepare(3, "equivalent", "inconclusive");
  EXPECT_EQ(Run({"--pairs", "3", "--device", "gpu0"}), 1);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("2% more work    FAIL  0 of 3 copies"),
                                HasSubstr("\nFAIL: do not trust")));
}

TEST_F(SelftestTest, Json) {
  Prepare(1, "equivalent", "slower");
  EXPECT_EQ(Run({"--pairs", "1", "-o", "json"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("{\"selftest\":{"), HasSubstr("\"passed\":true"),
                                HasSubstr("\"name\":\"coverage\"")));
  const std::string text = out_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(SelftestTest, WrongUse) {
  EXPECT_EQ(Run({"--device", "gpu7"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no device gpu7; known devices: cpu, gpu0"));
  EXPECT_EQ(Run({"--pairs", "0"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--pairs: 0 is outside 1 to 1000"));
  EXPECT_TRUE(fake_.jobs.submitted.empty());
}

TEST_F(SelftestTest, AWorkerWithoutFixturesIsToldAsTheCoordinatorSaysIt) {
  fake_.jobs.submit_status =
      absl::InvalidArgumentError("device gpu0 has no implementation selftest/a");
  EXPECT_EQ(Run({}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("has no implementation selftest/a"));
}

}  // namespace
}  // namespace kbench::client
