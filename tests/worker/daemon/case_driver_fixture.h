// A case driver over scripted runners and a device that can be told how to be. For the tests of the
// driver alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "proto/support/clock.h"
#include "worker/daemon/case_driver.h"

namespace kbench {

// A device that can be told to be hot, dead, busy or unsteady.
class FakeMonitor final : public DeviceMonitor {
 public:
  v1::Telemetry Now() override {
    v1::Telemetry telemetry;
    telemetry.set_temperature_celsius(celsius_);
    return telemetry;
  }
  void Begin() override {}
  v1::Telemetry End() override {
    v1::Telemetry telemetry;
    telemetry.set_sm_clock_hertz(1e9);
    telemetry.set_busy_mig_siblings(busy_siblings_);
    if (power_cap_) telemetry.add_throttle_reasons("POWER_CAP");
    if (slow_from_ > 0 && visits_ + 1 >= slow_from_ && visits_ + 1 < slow_to_) {
      telemetry.set_sm_clock_hertz(0.9e9);
    }
    ++visits_;
    if (hot_rounds_ > 0) {
      --hot_rounds_;
      telemetry.add_throttle_reasons("SW_THERMAL");
      celsius_ = 90;
    }
    return telemetry;
  }
  absl::Status Check() override { return check_; }
  void SetOwnProcesses(const std::vector<int>&) override {}
  std::vector<ForeignProcess> Foreign() override {
    ++looks_;
    if (looks_ > busy_looks_) return {};
    return {{321, "ann", "python", foreign_share_}};
  }

  int hot_rounds_ = 0;
  double celsius_ = 40;
  int busy_siblings_ = 0;
  bool power_cap_ = false;
  int visits_ = 0;
  int slow_from_ = 0;  // visits [from, to) run at 0.9 GHz
  int slow_to_ = 0;
  int looks_ = 0;
  int busy_looks_ = 0;  // how many looks find somebody
  double foreign_share_ = 0.37;
  absl::Status check_ = absl::OkStatus();
};

// The real clock, which remembers when it was asked.
class WatchedClock final : public Clock {
 public:
  double SteadySeconds() const override {
    last_ = SystemClock().SteadySeconds();
    if (first_ < 0) first_ = last_;
    return last_;
  }
  std::int64_t WallMicros() const override { return SystemClock().WallMicros(); }

  mutable double first_ = -1;
  mutable double last_ = -1;
};

class CaseDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    MakePool({});
    scratch_ = testing::TempDir() + "/driver-" + std::to_string(getpid());
    std::filesystem::create_directories(scratch_);
    facts_.device.set_kind("cuda");  // no host memory limit
    facts_.device.set_model("Fake device");
    assign_.mutable_id()->set_job("jobs/test");
    assign_.mutable_id()->set_attempt(2);
    assign_.mutable_case_()->set_kernel("matmul");
    assign_.mutable_case_()->set_dtype("fp32");
    assign_.mutable_case_()->set_size("64");
    SetBudget(20);
  }
  void TearDown() override { std::filesystem::remove_all(scratch_); }

  void MakePool(std::vector<std::string> args) {
    RunnerPool::Options options;
    options.runners = {{KBENCH_FAKE_RUNNER, std::move(args), {}}};
    options.device_kind = "cpu";
    auto pool = RunnerPool::Create(options);
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }
  void SetBudget(double seconds) {
    *assign_.mutable_policy()->mutable_case_budget() = ToDuration(seconds);
  }
  void Implementations(const std::vector<std::string>& names, const std::string& baseline = "") {
    assign_.mutable_implementations()->Assign(names.begin(), names.end());
    assign_.set_baseline(baseline);
  }
  // A program in the scratch folder that a shell runs; gives its path.
  std::string Script(const std::string& name, const std::string& text) const {
    const std::string path = scratch_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  const v1::Artifact* Find(const std::string& name) const {
    for (const v1::Artifact& artifact : outcome_.result.artifacts()) {
      if (artifact.name() == name) return &artifact;
    }
    return nullptr;
  }
  std::map<std::string, v1::Result> Run() {
    DriverContext context;
    context.pool = pool_.get();
    context.monitor = &monitor_;
    context.facts = &facts_;
    context.device_name = "gpu0";
    context.worker_name = "test";
    context.scratch_dir = scratch_;
    context.calibration = calibration_;
    context.tuning = tuning_;
    context.code = code_;
    context.ncu = ncu_;
    context.disassembler = disassembler_;
    context.clock = &clock_;
    context.busy_wait_seconds = busy_wait_seconds_;
    context.busy_window_seconds = 0.02;
    clock_.first_ = -1;
    CaseDriver driver(context, assign_, &cancel_,
                      [this](const v1::Progress& p) { progress_.push_back(p); });
    outcome_ = driver.Run();
    run_seconds_ = clock_.last_ - clock_.first_;
    std::map<std::string, v1::Result> results;
    for (const auto& result : outcome_.result.results()) {
      EXPECT_EQ(results.count(result.implementation()), 0u) << "one row an implementation";
      results[result.implementation()] = result;
    }
    EXPECT_EQ(outcome_.result.results_size(), assign_.implementations_size());
    return results;
  }

  std::unique_ptr<RunnerPool> pool_;
  FakeMonitor monitor_;
  v1::Calibration calibration_;
  DeviceFacts facts_;
  std::string scratch_;
  v1::Assign assign_;
  CancelToken cancel_;
  std::vector<v1::Progress> progress_;
  AttemptOutcome outcome_;
  WatchedClock clock_;
  TuningStore* tuning_ = nullptr;
  CodeMemory* code_ = nullptr;
  std::string ncu_;
  std::string disassembler_;
  double busy_wait_seconds_ = 0.3;
  double run_seconds_ = 0;  // from the first to the last look at the clock
};

}  // namespace kbench
