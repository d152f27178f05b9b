// The C ABI as the Python runner will use it: by name, from the shared library alone.
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/engine/kbench_engine.h"

namespace {

using ::testing::HasSubstr;

struct Sum {
  kb_engine* engine = nullptr;
  int launches = 0;
  int fail_at = -1;
};

int LaunchSum(void* user, void*) {
  auto* sum = static_cast<Sum*>(user);
  void *x = nullptr, *y = nullptr;
  int64_t bytes = 0;
  kb_operand(sum->engine, 0, &x, &bytes, nullptr);
  kb_operand(sum->engine, 1, &y, nullptr, nullptr);
  double total = 0;
  for (int64_t i = 0; i < bytes / 4; ++i) total += static_cast<const float*>(x)[i];
  *static_cast<float*>(y) = static_cast<float>(total);
  return ++sum->launches == sum->fail_at ? 3 : 0;
}

int LaunchNothing(void*, void*) { return 0; }

class EngineAbiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char error[256];
    ASSERT_EQ(kb_open("cpu", 1, &engine_, error, sizeof(error)), KB_OK) << error;
    sum_.engine = engine_;
  }
  void TearDown() override { kb_close(engine_); }
  static kb_case SumCase() {
    kb_case spec{};
    spec.kernel = "sum";
    spec.dtype = "fp32";
    spec.shape = "n=1001";
    spec.seed = 5;
    return spec;
  }
  void Open() {
    const kb_case spec = SumCase();
    ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK) << kb_error(engine_);
  }

  kb_engine* engine_ = nullptr;
  Sum sum_;
};

TEST_F(EngineAbiTest, OperandsAreDescribed) {
  kb_operand_info info{};
  EXPECT_EQ(kb_describe_operand(engine_, 0, &info), KB_INVALID_ARGUMENT) << "no case is open";
  kb_case spec = SumCase();
  spec.kernel = "matmul";
  spec.dtype = "tf32";
  spec.shape = "m=3,n=5,k=7,layout=nt";
  ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK) << kb_error(engine_);
  ASSERT_EQ(kb_describe_operand(engine_, 1, &info), KB_OK);
  EXPECT_STREQ(info.name, "b");
  EXPECT_STREQ(info.dtype, "fp32");
  ASSERT_EQ(info.dims, 2);
  EXPECT_EQ(info.extents[0], 5);
  EXPECT_EQ(info.extents[1], 7);
  EXPECT_EQ(info.is_output, 0);
  ASSERT_EQ(kb_describe_operand(engine_, 2, &info), KB_OK);
  EXPECT_EQ(info.is_output, 1);
  EXPECT_EQ(kb_describe_operand(engine_, 3, &info), KB_INVALID_ARGUMENT);
}

TEST(EngineAbi, WhatSomebodyTypedIsResolved) {
  kb_resolved resolved{};
  ASSERT_EQ(kb_resolve("matmul", "fp16", "64x32x16", "", &resolved), KB_OK);
  EXPECT_STREQ(resolved.shape, "m=64,n=32,k=16,layout=nn");
  EXPECT_STREQ(resolved.mode, "cold");
  EXPECT_STREQ(resolved.message, "");
  ASSERT_EQ(kb_resolve("sum", "fp32", "2^20", "graph", &resolved), KB_OK);
  EXPECT_STREQ(resolved.shape, "n=1048576");
  EXPECT_STREQ(resolved.mode, "graph");
  EXPECT_EQ(kb_resolve("fft", "fp32", "8", "", &resolved), KB_INVALID_ARGUMENT);
  EXPECT_STREQ(resolved.reason, "UNKNOWN_KERNEL");
  EXPECT_THAT(resolved.message, HasSubstr("fft"));
  EXPECT_STREQ(resolved.shape, "");
  EXPECT_EQ(kb_resolve("sum", "fp32", "many", "", &resolved), KB_INVALID_ARGUMENT);
  EXPECT_STREQ(resolved.reason, "BAD_SIZE");
  EXPECT_EQ(kb_resolve("sum", "fp32", "8", "warm", &resolved), KB_INVALID_ARGUMENT);
  EXPECT_STREQ(resolved.reason, "UNKNOWN_MODE");
  EXPECT_EQ(kb_resolve("sum", "fp32", nullptr, "", &resolved), KB_INVALID_ARGUMENT);
}

TEST(EngineAbi, ACallbackIsTimedWithNothingAroundIt) {
  Sum waits;
  const kb_launch launch = [](void* user, void* stream) {
    EXPECT_EQ(stream, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto* sum = static_cast<Sum*>(user);
    return ++sum->launches == sum->fail_at ? 3 : 0;
  };
  double seconds = 0;
  ASSERT_EQ(kb_time_callback(launch, &waits, 5, &seconds), KB_OK);
  EXPECT_EQ(waits.launches, 5);
  EXPECT_GE(seconds, 1e-3);
  ASSERT_EQ(kb_time_callback(LaunchNothing, nullptr, 1000, &seconds), KB_OK);
  EXPECT_GE(seconds, 0);
  EXPECT_LT(seconds, 1e-3);
  waits.fail_at = 7;
  EXPECT_EQ(kb_time_callback(launch, &waits, 5, &seconds), KB_LAUNCH_FAILED);
  EXPECT_EQ(waits.launches, 7);
  EXPECT_EQ(kb_time_callback(launch, &waits, 0, &seconds), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_time_callback(nullptr, nullptr, 1, &seconds), KB_INVALID_ARGUMENT);
}

TEST(EngineAbi, WorkAndSmallerProblemsNeedNoEngine) {
  double work = 0;
  ASSERT_EQ(kb_work("matmul", "fp16", "m=64,n=64,k=64,layout=nn", &work), KB_OK);
  EXPECT_DOUBLE_EQ(work, 2.0 * 64 * 64 * 64);
  EXPECT_EQ(kb_work("matmul", "fp16", "m=0", &work), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_work("no", "fp16", "n=1", &work), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_work(nullptr, "fp16", "n=1", &work), KB_INVALID_ARGUMENT);
  char shape[64] = "";
  ASSERT_EQ(kb_scaled_shape("sum", "fp32", "n=1000000", 4000, shape, sizeof(shape)), KB_OK);
  double scaled = 0;
  ASSERT_EQ(kb_work("sum", "fp32", shape, &scaled), KB_OK) << shape;
  // 4000 FLOP need 4000 elements of 4 bytes, and bytes are what counts here.
  EXPECT_LE(scaled, 16100);
  EXPECT_GT(scaled, 1600);
  EXPECT_EQ(kb_scaled_shape("sum", "fp32", "n=1000000", 4000, shape, 3), KB_INVALID_ARGUMENT);
}

TEST_F(EngineAbiTest, OperandsLieBetweenGuardsAndTheOutputIsPoisoned) {
  Open();
  ASSERT_EQ(kb_operand_count(engine_), 2);
  void* data = nullptr;
  int64_t bytes = 0;
  int32_t is_output = -1;
  ASSERT_EQ(kb_operand(engine_, 1, &data, &bytes, &is_output), KB_OK);
  EXPECT_EQ(is_output, 1);
  EXPECT_EQ(bytes, 4);
  uint32_t word = 0;
  std::memcpy(&word, data, sizeof(word));
  EXPECT_EQ(word, 0xFFFFFFFFu);
  EXPECT_EQ(kb_operand(engine_, 0, &data, &bytes, &is_output), KB_OK);
  EXPECT_EQ(is_output, 0);
  EXPECT_EQ(bytes, 4004);
  EXPECT_EQ(kb_operand(engine_, 2, &data, &bytes, &is_output), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_operand(engine_, -1, &data, &bytes, &is_output), KB_INVALID_ARGUMENT);
  kb_facts facts{};
  ASSERT_EQ(kb_get_facts(engine_, &facts), KB_OK);
  EXPECT_STREQ(facts.mechanism, "steady-clock");
  EXPECT_EQ(facts.footprint_bytes, 4008);
  EXPECT_GT(facts.device_memory_bytes, 1 << 20);
}

TEST_F(EngineAbiTest, TheSameSeedGivesTheSameInputs) {
  std::vector<float> first, second;
  for (std::vector<float>* inputs : {&first, &second}) {
    Open();
    void* data = nullptr;
    kb_operand(engine_, 0, &data, nullptr, nullptr);
    inputs->assign(static_cast<float*>(data), static_cast<float*>(data) + 1001);
    kb_case_close(engine_);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first.front(), first.back());
}

TEST_F(EngineAbiTest, VerifiesWhatALaunchLeft) {
  Open();
  kb_check check{};
  ASSERT_EQ(kb_verify(engine_, KB_VERIFY_BEFORE, 0, LaunchSum, &sum_, &check), KB_OK);
  EXPECT_TRUE(check.passed) << check.message;
  EXPECT_EQ(sum_.launches, 1);
  ASSERT_EQ(kb_verify(engine_, KB_VERIFY_AFTER, 0, LaunchSum, &sum_, &check), KB_OK);
  EXPECT_TRUE(check.passed);
  EXPECT_EQ(sum_.launches, 1);  // AFTER launches nothing
  ASSERT_EQ(kb_verify(engine_, KB_VERIFY_NEW_SEED, 6, LaunchSum, &sum_, &check), KB_OK);
  EXPECT_TRUE(check.passed);
  // A launch that writes nothing leaves the poison, not the last right answer.
  ASSERT_EQ(kb_verify(engine_, KB_VERIFY_BEFORE, 0, LaunchNothing, nullptr, &check), KB_OK);
  EXPECT_FALSE(check.passed);
  EXPECT_STREQ(check.reason, "NOT_FINITE");
  EXPECT_EQ(check.relative_error, -1);
}

TEST_F(EngineAbiTest, ANewSeedChangesTheInputs) {
  Open();
  void* data = nullptr;
  kb_operand(engine_, 0, &data, nullptr, nullptr);
  const float before = *static_cast<float*>(data);
  kb_check check{};
  ASSERT_EQ(kb_verify(engine_, KB_VERIFY_NEW_SEED, 6, LaunchSum, &sum_, &check), KB_OK);
  EXPECT_NE(*static_cast<float*>(data), before);
}

TEST_F(EngineAbiTest, ABurstFillsItsRecord) {
  Open();
  std::vector<double> device(50, -1), submit(50, -1);
  kb_burst_record record{};
  record.device_seconds = device.data();
  record.submit_seconds = submit.data();
  const kb_burst_spec spec{50, 10};
  ASSERT_EQ(kb_burst(engine_, &spec, LaunchSum, &sum_, &record), KB_OK) << kb_error(engine_);
  EXPECT_EQ(record.count + record.discarded, 50);
  EXPECT_EQ(record.submit_count, 0);
  EXPECT_GT(record.seconds, 0);
  for (int i = 0; i < record.count; ++i) EXPECT_GT(device[static_cast<std::size_t>(i)], 0);
  EXPECT_EQ(submit[0], -1);
}

TEST_F(EngineAbiTest, SteadyTimesBatchesOfLaunches) {
  kb_case spec = SumCase();
  spec.mode = "steady";
  ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK) << kb_error(engine_);
  EXPECT_EQ(kb_operand_sets(engine_), 1);
  EXPECT_EQ(kb_current_set(engine_), 0);
  kb_facts facts{};
  ASSERT_EQ(kb_get_facts(engine_, &facts), KB_OK);
  const double quantum = facts.quantum_seconds;
  EXPECT_EQ(facts.launches_per_sample, 1);  // not yet known
  std::vector<double> device(5), submit(5);
  kb_burst_record record{};
  record.device_seconds = device.data();
  record.submit_seconds = submit.data();
  const kb_burst_spec burst{5, 10};
  ASSERT_EQ(kb_burst(engine_, &burst, LaunchSum, &sum_, &record), KB_OK) << kb_error(engine_);
  ASSERT_EQ(kb_get_facts(engine_, &facts), KB_OK);
  EXPECT_STREQ(facts.mechanism, "steady-clock-back-to-back");
  EXPECT_GE(facts.launches_per_sample, 2);  // of about a microsecond each
  EXPECT_DOUBLE_EQ(facts.quantum_seconds, quantum / facts.launches_per_sample);
  ASSERT_EQ(record.count, 5);
  for (int i = 0; i < 5; ++i) {
    const double seconds = device[static_cast<std::size_t>(i)];
    EXPECT_GT(seconds, 1e-8);
    EXPECT_LT(seconds, 1e-3);  // of one launch, not of the batch
  }
  EXPECT_GT(record.duty_ratio, 0);
  EXPECT_LE(record.duty_ratio, 1);
  kb_check check{};
  ASSERT_EQ(kb_verify(engine_, KB_VERIFY_AFTER, 0, LaunchSum, &sum_, &check), KB_OK);
  EXPECT_TRUE(check.passed) << check.message;
}

TEST_F(EngineAbiTest, ALaunchThatStopsWorkingIsFoundInEveryMode) {
  for (const char* mode : {"cold", "hot", "steady"}) {
    SCOPED_TRACE(mode);
    kb_case spec = SumCase();
    spec.mode = mode;
    ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK) << kb_error(engine_);
    kb_check check{};
    ASSERT_EQ(kb_verify(engine_, KB_VERIFY_BEFORE, 0, LaunchSum, &sum_, &check), KB_OK);
    EXPECT_TRUE(check.passed);
    std::vector<double> device(3), submit(3);
    kb_burst_record record{};
    record.device_seconds = device.data();
    record.submit_seconds = submit.data();
    const kb_burst_spec burst{3, 10};
    // What it leaves is the right answer of the check's launch.
    ASSERT_EQ(kb_burst(engine_, &burst, LaunchNothing, nullptr, &record), KB_OK);
    ASSERT_EQ(kb_verify(engine_, KB_VERIFY_AFTER, 0, LaunchSum, &sum_, &check), KB_OK);
    EXPECT_FALSE(check.passed);
    EXPECT_STREQ(check.reason, "NOT_FINITE");
    kb_case_close(engine_);
  }
}

TEST_F(EngineAbiTest, CalibratesWithNoCaseOpen) {
  kb_calibration calibration{};
  Open();
  EXPECT_EQ(kb_calibrate(engine_, &calibration), KB_INVALID_ARGUMENT);
  EXPECT_THAT(kb_error(engine_), HasSubstr("kb_case_close"));
  kb_case_close(engine_);
  EXPECT_EQ(kb_calibrate(engine_, nullptr), KB_INVALID_ARGUMENT);
  ASSERT_EQ(kb_calibrate(engine_, &calibration), KB_OK) << kb_error(engine_);
  EXPECT_TRUE(calibration.passed) << calibration.failed_step << ": " << calibration.message;
  EXPECT_EQ(calibration.known_count, KB_KNOWN_DURATIONS);
  EXPECT_GT(calibration.read_bandwidth, 0);
  Open();  // and the engine goes on
}

TEST_F(EngineAbiTest, OperandsOfASetAreThoseOfTheCase) {
  Open();
  void *by_index = nullptr, *by_set = nullptr;
  ASSERT_EQ(kb_operand(engine_, 1, &by_index, nullptr, nullptr), KB_OK);
  ASSERT_EQ(kb_operand_of(engine_, 0, 1, &by_set), KB_OK);
  EXPECT_EQ(by_index, by_set);
  EXPECT_EQ(kb_operand_of(engine_, 1, 1, &by_set), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_operand_of(engine_, 0, 2, &by_set), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_operand_of(engine_, 0, 0, nullptr), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_operand_sets(nullptr), 0);
}

TEST_F(EngineAbiTest, ALaunchThatFailsThrowsTheTimeAway) {
  Open();
  sum_.fail_at = 10;
  std::vector<double> device(50), submit(50);
  kb_burst_record record{};
  record.device_seconds = device.data();
  record.submit_seconds = submit.data();
  const kb_burst_spec spec{50, 10};
  EXPECT_EQ(kb_burst(engine_, &spec, LaunchSum, &sum_, &record), KB_LAUNCH_FAILED);
  EXPECT_EQ(record.count, 0);
  EXPECT_THAT(kb_error(engine_), HasSubstr("error 3"));
  double seconds = 0;
  EXPECT_EQ(kb_call(engine_, LaunchSum, &sum_, &seconds), KB_OK);  // the engine goes on
  EXPECT_GT(seconds, 0);
}

TEST_F(EngineAbiTest, MemoryBeyondTheLimitIsRefusedWithBothNumbers) {
  kb_case spec = SumCase();
  spec.memory_limit_bytes = 4096;
  EXPECT_EQ(kb_case_open(engine_, &spec), KB_OUT_OF_MEMORY);
  EXPECT_EQ(kb_needed_bytes(engine_), 4008 + 4 * 4096);
  EXPECT_EQ(kb_free_bytes(engine_), 4096);
  EXPECT_THAT(kb_error(engine_), HasSubstr("4096"));
  spec = SumCase();
  spec.shape = "n=1Ti";
  EXPECT_EQ(kb_case_open(engine_, &spec), KB_OUT_OF_MEMORY);
  EXPECT_GT(kb_needed_bytes(engine_), int64_t{1} << 42);
  EXPECT_GT(kb_free_bytes(engine_), 0);
  EXPECT_GT(kb_device_free_bytes(engine_), 0);
  EXPECT_EQ(kb_device_free_bytes(nullptr), 0);
  Open();  // nothing was left behind
}

// Launches that are not the case's: on the scratch, in any mode, and of no consequence.
TEST_F(EngineAbiTest, ATrialLeavesNothingBehind) {
  for (const char* mode : {"cold", "hot", "steady"}) {
    SCOPED_TRACE(mode);
    kb_case spec = SumCase();
    spec.mode = mode;
    ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK) << kb_error(engine_);
    void *output = nullptr, *scratch = nullptr, *again = nullptr;
    kb_operand(engine_, 1, &output, nullptr, nullptr);
    ASSERT_EQ(kb_scratch_open(engine_, &scratch), KB_OK) << kb_error(engine_);
    ASSERT_EQ(kb_scratch_open(engine_, &again), KB_OK);
    EXPECT_EQ(scratch, again);
    EXPECT_NE(scratch, output);
    std::vector<double> device(5), submit(5);
    kb_burst_record record{};
    record.device_seconds = device.data();
    record.submit_seconds = submit.data();
    const kb_burst_spec burst{5, 10};
    const auto write = [](void* to, void*) {
      *static_cast<float*>(to) = 7;
      return 0;
    };
    ASSERT_EQ(kb_trial(engine_, &burst, write, scratch, &record), KB_OK) << kb_error(engine_);
    EXPECT_EQ(record.count + record.discarded, 5);
    EXPECT_EQ(*static_cast<float*>(scratch), 7);
    EXPECT_EQ(*static_cast<const uint32_t*>(output), 0xffffffffu);
    kb_check check{};
    ASSERT_EQ(kb_verify(engine_, KB_VERIFY_BEFORE, 0, LaunchSum, &sum_, &check), KB_OK);
    EXPECT_TRUE(check.passed) << check.message;
    ASSERT_EQ(kb_burst(engine_, &burst, LaunchSum, &sum_, &record), KB_OK);
    kb_scratch_close(engine_);
    kb_scratch_close(engine_);
    ASSERT_EQ(kb_verify(engine_, KB_VERIFY_AFTER, 0, LaunchSum, &sum_, &check), KB_OK);
    EXPECT_TRUE(check.passed) << check.message;
    kb_case_close(engine_);
  }
}

// In mode steady a batch is as long as the launch asks for that is measured, not the one tried.
TEST_F(EngineAbiTest, AfterATrialASampleIsPlannedAnew) {
  kb_case spec = SumCase();
  spec.mode = "steady";
  ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK);
  std::vector<double> device(1), submit(1);
  kb_burst_record record{};
  record.device_seconds = device.data();
  record.submit_seconds = submit.data();
  const kb_burst_spec burst{1, 10};
  const auto slow = [](void*, void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return 0;
  };
  kb_facts facts{};
  ASSERT_EQ(kb_burst(engine_, &burst, slow, nullptr, &record), KB_OK);
  kb_get_facts(engine_, &facts);
  EXPECT_EQ(facts.launches_per_sample, 1);
  ASSERT_EQ(kb_trial(engine_, &burst, LaunchSum, &sum_, &record), KB_OK);
  ASSERT_EQ(kb_burst(engine_, &burst, LaunchSum, &sum_, &record), KB_OK);
  kb_get_facts(engine_, &facts);
  EXPECT_GT(facts.launches_per_sample, 10);
}

TEST_F(EngineAbiTest, AScratchThatDoesNotFitLeavesTheCaseAsItWas) {
  kb_case spec = SumCase();
  spec.memory_limit_bytes = 4008 + 4 * 4096 + 100;
  ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK) << kb_error(engine_);
  void* scratch = nullptr;
  EXPECT_EQ(kb_scratch_open(engine_, &scratch), KB_OUT_OF_MEMORY);
  EXPECT_EQ(kb_needed_bytes(engine_), 4 + 2 * 4096);
  EXPECT_EQ(kb_free_bytes(engine_), 100);
  kb_check check{};
  ASSERT_EQ(kb_verify(engine_, KB_VERIFY_BEFORE, 0, LaunchSum, &sum_, &check), KB_OK);
  EXPECT_TRUE(check.passed);
}

TEST_F(EngineAbiTest, WrongArgumentsSayWhatWouldBeRight) {
  double seconds = 0;
  EXPECT_EQ(kb_call(engine_, LaunchSum, &sum_, &seconds), KB_INVALID_ARGUMENT);
  EXPECT_THAT(kb_error(engine_), HasSubstr("kb_case_open"));
  kb_case spec = SumCase();
  spec.flush = "thorough";
  EXPECT_EQ(kb_case_open(engine_, &spec), KB_INVALID_ARGUMENT);
  EXPECT_THAT(kb_error(engine_), HasSubstr("clean, dirty, none"));
  spec = SumCase();
  spec.mode = "graph";
  EXPECT_EQ(kb_case_open(engine_, &spec), KB_INVALID_ARGUMENT);
  EXPECT_THAT(kb_error(engine_), HasSubstr("use cold, hot or steady"));
  spec = {};
  EXPECT_EQ(kb_case_open(engine_, &spec), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_case_open(engine_, nullptr), KB_INVALID_ARGUMENT);
  Open();
  spec = SumCase();
  EXPECT_EQ(kb_case_open(engine_, &spec), KB_INVALID_ARGUMENT);  // one at a time
  kb_check check{};
  EXPECT_EQ(kb_verify(engine_, 9, 0, LaunchSum, &sum_, &check), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_call(engine_, nullptr, nullptr, &seconds), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_call(nullptr, LaunchSum, &sum_, &seconds), KB_INVALID_ARGUMENT);
  kb_close(nullptr);
  kb_case_close(nullptr);
}

TEST(EngineOpenTest, UnknownDevicesAreNamed) {
  kb_engine* engine = reinterpret_cast<kb_engine*>(1);
  char error[256];
  EXPECT_EQ(kb_open("tpu", 1, &engine, error, sizeof(error)), KB_INVALID_ARGUMENT);
  EXPECT_EQ(engine, nullptr);
  EXPECT_THAT(error, HasSubstr("tpu"));
  EXPECT_EQ(kb_open("cuda", 1, &engine, error, sizeof(error)), KB_INVALID_ARGUMENT);
  EXPECT_THAT(error, HasSubstr("libkbench-engine-cuda.so"));
  EXPECT_EQ(kb_open("cpu", 0, &engine, error, sizeof(error)), KB_INVALID_ARGUMENT);
  EXPECT_EQ(kb_open("cpu", 1, nullptr, error, sizeof(error)), KB_INVALID_ARGUMENT);
  EXPECT_GT(std::strlen(kb_version()), 0u);
}

TEST(EngineOpenTest, TheNullKernelHasNoOperands) {
  kb_engine* engine = nullptr;
  ASSERT_EQ(kb_open("cpu", 1, &engine, nullptr, 0), KB_OK);
  kb_case spec{};
  spec.kernel = "null";
  spec.dtype = "fp32";
  spec.shape = "n=1";
  ASSERT_EQ(kb_case_open(engine, &spec), KB_OK) << kb_error(engine);
  EXPECT_EQ(kb_operand_count(engine), 0);
  kb_check check{};
  EXPECT_EQ(kb_verify(engine, KB_VERIFY_BEFORE, 0, LaunchNothing, nullptr, &check), KB_OK);
  EXPECT_TRUE(check.passed);
  void* scratch = &check;
  EXPECT_EQ(kb_scratch_open(engine, &scratch), KB_OK) << "nothing to write is no error";
  EXPECT_EQ(scratch, nullptr);
  kb_close(engine);
}

}  // namespace
