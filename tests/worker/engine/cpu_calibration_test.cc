#include "worker/engine/cpu_calibration.h"

#include <algorithm>
#include <cstdio>

#include "gtest/gtest.h"
#include "worker/engine/memory_pass.h"

namespace kbench::engine {
namespace {

TEST(CpuCalibrationTest, MeasuresThisMachine) {
  CpuTimeline timeline(2);
  kb_calibration out{};
  const double begin = timeline.HostSeconds();
  const EngineError error = CalibrateCpu(timeline, 2, &out);
  const double seconds = timeline.HostSeconds() - begin;
  ASSERT_FALSE(error) << error.message;
  ASSERT_TRUE(out.passed) << out.failed_step << ": " << out.message;
  std::printf(
      "calibrated in %.2f s: floor %.0f ns, quantum %.0f ns, cold/hot %.2f, read %.1f, "
      "write %.1f, copy %.1f GB/s\n",
      seconds, out.event_floor_seconds * 1e9, out.quantum_seconds * 1e9, out.flush_cold_ratio,
      out.read_bandwidth * 1e-9, out.write_bandwidth * 1e-9, out.copy_bandwidth * 1e-9);
  EXPECT_GT(out.quantum_seconds, 0);
  EXPECT_LT(out.quantum_seconds, 10e-6);
  EXPECT_GT(out.event_floor_seconds, 0);
  EXPECT_EQ(out.timer_tick_seconds, 0);  // a CPU has no global timer
  ASSERT_EQ(out.known_count, KB_KNOWN_DURATIONS);
  const double expected[] = {5e-6, 50e-6, 500e-6, 5e-3};
  for (int i = 0; i < KB_KNOWN_DURATIONS; ++i) {
    EXPECT_GE(out.known_expected_seconds[i], expected[i]);
    EXPECT_NEAR(out.known_measured_seconds[i], out.known_expected_seconds[i],
                out.known_allowed_seconds[i]);
  }
  EXPECT_GT(out.flush_cold_ratio, 1.05);
  for (const double bandwidth : {out.read_bandwidth, out.write_bandwidth, out.copy_bandwidth}) {
    EXPECT_GT(bandwidth, 1e8);
    EXPECT_LT(bandwidth, 1e13);
  }
}

TEST(CpuCalibrationTest, IsOverInSeconds) {
  // Half a second on a machine of its own. Where others use the cores the least disturbed counts.
  double least = 1e9;
  for (int i = 0; i < 10 && least > 3; ++i) {
    CpuTimeline timeline(2);
    kb_calibration out{};
    const double begin = timeline.HostSeconds();
    ASSERT_FALSE(CalibrateCpu(timeline, 2, &out));
    least = std::min(least, timeline.HostSeconds() - begin);
  }
  EXPECT_LT(least, 3);
}

TEST(MemoryPassTest, ACopyWritesTheSecondHalf) {
  constexpr std::int64_t kBytes = 4 * 4096;
  for (const PassKind kind : {PassKind::kCopy, PassKind::kStreamingCopy}) {
    alignas(64) static char data[kBytes];
    for (std::int64_t i = 0; i < kBytes; ++i)
      data[i] = static_cast<char>(i < kBytes / 2 ? i % 97 : 0);
    EXPECT_GT(MemoryPassSeconds(kind, data, kBytes, 2), 0);
    for (std::int64_t i = 0; i < kBytes / 2; ++i) ASSERT_EQ(data[kBytes / 2 + i], i % 97) << i;
  }
}

TEST(MemoryPassTest, AWriteReachesEveryByte) {
  constexpr std::int64_t kBytes = 4 * 4096;
  for (const PassKind kind : {PassKind::kWrite, PassKind::kStreamingWrite}) {
    alignas(64) static char data[kBytes];
    for (char& byte : data) byte = 5;
    EXPECT_GT(MemoryPassSeconds(kind, data, kBytes, 2), 0);
    for (const char byte : data) ASSERT_EQ(byte, 0);
  }
}

}  // namespace
}  // namespace kbench::engine
