#include "worker/engine/calibration.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench::engine {
namespace {

using ::testing::HasSubstr;

TEST(CalibrationTest, TheMedianIsTheMiddle) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({4, 1, 2, 9}), 3);
}

TEST(CalibrationTest, TheQuantumIsTheSmallestRealStep) {
  // Steps of 32 ns; the second and third are one value, rounded twice.
  EXPECT_NEAR(Quantum({1.280e-6, 1.344e-6, 1.3440001e-6, 1.312e-6, 1.280e-6}, 1e-9), 32e-9, 2e-10);
  EXPECT_NEAR(Quantum({3e-6, 1e-6, 2e-6}, 1e-9), 1e-6, 1e-15);
  EXPECT_EQ(Quantum({1e-6, 1e-6, 1e-6}, 1e-9), 0);
  EXPECT_EQ(Quantum({}, 1e-9), 0);
}

TEST(CalibrationTest, TheLargestOfThreeErrorsIsAllowed) {
  EXPECT_DOUBLE_EQ(AllowedError(5e-6, 32e-9, 32e-9), 64e-9);    // two quanta
  EXPECT_DOUBLE_EQ(AllowedError(5e-6, 32e-9, 1e-6), 2e-6);      // two ticks
  EXPECT_DOUBLE_EQ(AllowedError(50e-6, 32e-9, 32e-9), 0.5e-6);  // 1 %
}

TEST(CalibrationTest, ALaunchThatReallyTookLongerIsNoErrorOfTheClock) {
  kb_calibration out{};
  out.quantum_seconds = 32e-9;
  // The third launch was held up; the kernel knows.
  const KnownDurationTimes times{{50e-6, 50e-6, 80e-6, 50e-6, 90e-6},
                                 {52.1e-6, 52e-6, 82e-6, 51.9e-6, 92e-6}};
  EXPECT_NEAR(AddedByClock(times), 2e-6, 1e-12);
  EXPECT_TRUE(CheckKnownDuration(times, 1.8e-6, 32e-9, &out));
  ASSERT_EQ(out.known_count, 1);
  EXPECT_DOUBLE_EQ(out.known_expected_seconds[0], 50e-6);
  EXPECT_NEAR(out.known_measured_seconds[0], 50.2e-6, 1e-12);
  EXPECT_DOUBLE_EQ(out.known_allowed_seconds[0], 0.5e-6);
  EXPECT_STREQ(out.failed_step, "");
}

TEST(CalibrationTest, AClockThatIsOffByTwoPercentFails) {
  kb_calibration out{};
  out.passed = 1;
  out.quantum_seconds = 32e-9;
  EXPECT_FALSE(CheckKnownDuration({{500e-6}, {512e-6}}, 2e-6, 32e-9, &out));
  EXPECT_EQ(out.passed, 0);
  EXPECT_STREQ(out.failed_step, "known-durations");
  EXPECT_THAT(out.message, HasSubstr("500 us"));
  EXPECT_THAT(out.message, HasSubstr("510 us"));
  EXPECT_THAT(out.message, HasSubstr("at most 5 us"));
  EXPECT_NEAR(out.known_measured_seconds[0], 510e-6, 1e-12);
}

TEST(CalibrationTest, AKernelThatNeverRanFails) {
  kb_calibration out{};
  EXPECT_FALSE(CheckKnownDuration({{0, 0}, {0, 0}}, 0, 32e-9, &out));
}

TEST(CalibrationTest, NoMoreDurationsThanThereIsRoomFor) {
  kb_calibration out{};
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(CheckKnownDuration({{1e-3}, {1e-3}}, 0, 0, &out));
  EXPECT_EQ(out.known_count, KB_KNOWN_DURATIONS);
}

// As measured on an H200: one L2 leaves a read 4 % slower than two.
TEST(CalibrationTest, TheSmallestFlushThatIsEnoughIsChosen) {
  const FlushChoice choice =
      ChooseFlush({{60, 72.1e-6}, {90, 70.2e-6}, {120, 69.5e-6}, {180, 69.4e-6}}, 35e-6);
  EXPECT_EQ(choice.bytes, 90);  // 1.2 % from the largest
  EXPECT_NEAR(choice.cold_ratio, 70.2 / 35, 1e-12);
}

TEST(CalibrationTest, AFlushMustAgreeWithEveryLargerOne) {
  EXPECT_EQ(ChooseFlush({{1, 10.0}, {2, 10.1}, {3, 10.4}, {4, 10.4}}, 5).bytes, 3);
  EXPECT_EQ(ChooseFlush({{1, 10}, {2, 11}, {3, 12}, {4, 13}}, 5).bytes, 4);
  EXPECT_EQ(ChooseFlush({{1, 10}, {2, 10}, {3, 10}, {4, 10}}, 5).bytes, 1);
}

TEST(CalibrationTest, NothingToChooseFromIsNoFlush) {
  EXPECT_EQ(ChooseFlush({}, 1).bytes, 0);
  EXPECT_EQ(ChooseFlush({{1, 10}}, 0).cold_ratio, 0);
}

}  // namespace
}  // namespace kbench::engine
