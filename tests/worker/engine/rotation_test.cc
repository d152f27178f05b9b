#include "worker/engine/rotation.h"

#include "gtest/gtest.h"

namespace kbench::engine {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(RotationTest, ThreeCachesLieBetweenTwoLaunchesOnASet) {
  EXPECT_EQ(RotationSets(96 * kMiB, 60 * kMiB), 1 + 2);  // 180 / 96
  EXPECT_EQ(RotationSets(90 * kMiB, 60 * kMiB), 1 + 2);  // 180 / 90 exactly
  EXPECT_EQ(RotationSets(8 * kMiB, 60 * kMiB), 1 + 23);  // 180 / 8 = 22.5
  EXPECT_EQ(RotationSets(1024 * kMiB, 60 * kMiB), 2);
}

TEST(RotationTest, IsCappedAndNeverBelowTwo) {
  EXPECT_EQ(RotationSets(4096, 60 * kMiB), 64);
  EXPECT_EQ(RotationSets(0, 60 * kMiB), 2);
  EXPECT_EQ(RotationSets(kMiB, 0), 2);
}

TEST(RotationTest, AReplayIsLongEnoughAndWholeTurns) {
  EXPECT_EQ(LaunchesPerReplay(3, 70e-6, 32e-9), 15);    // 1 ms is 14.3 launches
  EXPECT_EQ(LaunchesPerReplay(2, 5e-3, 32e-9), 2);      // one turn is longer
  EXPECT_EQ(LaunchesPerReplay(2, 100e-6, 50e-6), 100);  // 200 quanta are 10 ms
  EXPECT_EQ(LaunchesPerReplay(4, 250e-6, 32e-9), 4);    // exactly 1 ms
}

TEST(RotationTest, AReplayHoldsAtMost4096Launches) {
  EXPECT_EQ(LaunchesPerReplay(64, 1e-9, 32e-9), 4096);
  EXPECT_EQ(LaunchesPerReplay(3, 1e-9, 32e-9), 4095);
  EXPECT_EQ(LaunchesPerReplay(3, 0, 32e-9), 4095);
}

TEST(RotationTest, ABatchTakesTwoMillisecondsOr200Quanta) {
  EXPECT_EQ(LaunchesPerBatch(100e-6, 32e-9), 20);
  EXPECT_EQ(LaunchesPerBatch(300e-6, 32e-9), 7);
  EXPECT_EQ(LaunchesPerBatch(1.0, 32e-9), 1);
  EXPECT_EQ(LaunchesPerBatch(100e-6, 50e-6), 100);
  EXPECT_EQ(LaunchesPerBatch(0, 32e-9), 1 << 20);
}

}  // namespace
}  // namespace kbench::engine
