#include "worker/daemon/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "proto/support/clock.h"
#include "tests/worker/daemon/quiet_monitor.h"
#include "worker/daemon/calibration_store.h"

namespace kbench {
namespace {

using testing::HasSubstr;

class CalibrationTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/calibration-" + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
    facts_.device.set_kind("cpu");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  v1::Calibration Run(const std::vector<std::string>& args, const std::string& kind = "cpu") {
    RunnerPool::Options options;
    options.runners = {{KBENCH_FAKE_RUNNER, args, {}}};
    options.runners[0].args.insert(options.runners[0].args.end(), {"--kind", kind});
    options.device_kind = kind;
    facts_.device.set_kind(kind);
    options.spares = 1;
    auto pool = RunnerPool::Create(options);
    EXPECT_TRUE(pool.ok()) << pool.status();
    const CalibrationSetup setup{pool->get(), &monitor_, &facts_, dir_, 0.3};
    auto calibration = Calibrate(setup, cancel_);
    cancelled_ = !calibration;
    return calibration ? *calibration : v1::Calibration();
  }

  std::string dir_;
  QuietMonitor monitor_;
  DeviceFacts facts_;
  CancelToken cancel_;
  bool cancelled_ = false;
};

TEST_F(CalibrationTest, TakesTheRunnersWordAndMeasuresTheRoofItself) {
  const auto calibration = Run({});
  EXPECT_TRUE(calibration.passed()) << calibration.message();
  EXPECT_EQ(calibration.event_floor_seconds(), 1.28e-6);
  EXPECT_EQ(calibration.engine_version(), "fake-1");
  EXPECT_GT(calibration.seconds(), 0);
  ASSERT_EQ(calibration.matmul_flops().size(), 1u) << "fp32 alone is offered";
  // 1024^3 in about 1 ms, by the catalog's first baseline that is there.
  EXPECT_NEAR(calibration.matmul_flops().at("fp32"), 2.147e12, 2e10);
  EXPECT_TRUE(std::filesystem::is_empty(dir_)) << "nothing stays behind";
}

TEST_F(CalibrationTest, TheRoofIsMeasuredWithTheFoundFlushOnCuda) {
  const std::string log = dir_ + "/../calibration-log-" + std::to_string(getpid());
  const auto calibration = Run({"--log", log}, "cuda");
  EXPECT_TRUE(calibration.passed()) << calibration.message();
  // No 4096 roof in fp64, tf32 ...: nobody offers them.
  EXPECT_NEAR(calibration.matmul_flops().at("fp32"), 2.0 * 4096 * 4096 * 4096 / 1e-3, 1e12);
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("\"flushBytes\":\"100663296\""));
  EXPECT_THAT(text, HasSubstr("\"implementation\":\"cpu/openblas\""));
  std::filesystem::remove(log);
}

TEST_F(CalibrationTest, AFailureNamesTheStepAndWhatWasMeasured) {
  const auto failed = Run({"--calibration", "fail"});
  EXPECT_FALSE(failed.passed());
  EXPECT_EQ(failed.failed_step(), "known-durations");
  EXPECT_THAT(failed.message(), HasSubstr("5 us was measured as 9 us"));
  EXPECT_TRUE(failed.matmul_flops().empty());
  for (const char* how : {"crash", "hang", "refuse"}) {
    const auto lost = Run({"--calibration", how});
    EXPECT_FALSE(lost.passed()) << how;
    EXPECT_EQ(lost.failed_step(), "runner") << how;
    EXPECT_FALSE(lost.message().empty()) << how;
  }
}

TEST_F(CalibrationTest, CancelledSaysNothing) {
  cancel_.Cancel(CancelToken::Why::kShutdown);
  Run({"--calibration", "hang"});
  EXPECT_TRUE(cancelled_);
}

TEST_F(CalibrationTest, TheStoreKeepsItForADayAndOneKey) {
  const std::string path = dir_ + "/below/cpu.json";
  const CalibrationStore store(path, "cpu|\"quoted\"|v1");
  constexpr std::int64_t kNow = 1'800'000'000'000'000;
  EXPECT_FALSE(store.Load(kNow).calibration) << "nothing there yet";
  StoredCalibration stored;
  stored.calibration.emplace();
  EXPECT_FALSE(store.Save(stored).ok()) << "a failed one is never kept";
  stored.calibration->set_passed(true);
  stored.calibration->set_flush_bytes(123456789012);
  (*stored.calibration->mutable_matmul_flops())["fp16"] = 7.9e14;
  stored.measured_micros = kNow;
  stored.last_session_micros = kNow + 1;
  stored.sessions = {{"sum fp32 n=4 cpu/naive", -6.9077552789821368, 1e-7}};
  ASSERT_TRUE(store.Save(stored).ok());

  const StoredCalibration found = store.Load(kNow + 3600ll * 1'000'000);
  ASSERT_TRUE(found.calibration);
  EXPECT_EQ(found.calibration->flush_bytes(), 123456789012);
  EXPECT_EQ(found.calibration->matmul_flops().at("fp16"), 7.9e14);
  ASSERT_EQ(found.sessions.size(), 1u);
  EXPECT_EQ(found.sessions[0].cell, "sum fp32 n=4 cpu/naive");
  EXPECT_DOUBLE_EQ(found.sessions[0].log_median, -6.9077552789821368);
  EXPECT_EQ(found.last_session_micros, kNow + 1);

  const StoredCalibration old = store.Load(kNow + 25 * 3600ll * 1'000'000);
  EXPECT_FALSE(old.calibration);
  EXPECT_EQ(old.sessions.size(), 1u) << "canaries outlive a calibration";
  EXPECT_FALSE(store.Load(kNow - 1).calibration) << "from the future: the clock was set back";
  const CalibrationStore other(path, "cpu|v2");
  EXPECT_FALSE(other.Load(kNow).calibration);
  EXPECT_TRUE(other.Load(kNow).sessions.empty());
  std::ofstream(path) << "{\"key\": nonsense";
  EXPECT_FALSE(store.Load(kNow).calibration);
}

}  // namespace
}  // namespace kbench
