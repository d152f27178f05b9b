#include "client/output/units.h"

#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

TEST(UnitsTest, FourDigitsAndTheUnitThatFits) {
  EXPECT_EQ(FormatSeconds(190.13e-6), "190.1 us");
  EXPECT_EQ(FormatSeconds(1.2345e-3), "1.234 ms");
  EXPECT_EQ(FormatSeconds(9.99996e-3), "10.00 ms");
  EXPECT_EQ(FormatSeconds(0.99999), "1.000 s");
  EXPECT_EQ(FormatSeconds(999.96e-9), "1.000 us");
  EXPECT_EQ(FormatSeconds(4321), "4321 s");
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatFlops(7.243e14), "724.3 TFLOP/s");
  EXPECT_EQ(FormatFlops(12e3), "0.012 MFLOP/s");
  EXPECT_EQ(FormatBytes(3.3521e12), "3.352 TB/s");
  EXPECT_EQ(FormatSize(141.0 * 1024 * 1024 * 1024), "141 GiB");
  EXPECT_EQ(FormatSize(12), "12 B");
  EXPECT_EQ(FormatPercent(0.0021), "0.21%");
  EXPECT_EQ(FormatPercent(0.123), "12.3%");
  EXPECT_EQ(FormatFactor(0.52), "0.520x");
  EXPECT_EQ(FormatFactor(0.0123), "0.0123x");
  EXPECT_EQ(FormatFactor(1234), "1234x");
  EXPECT_EQ(FormatSecondsRoughly(43.2), "43 s");
  EXPECT_EQ(FormatSecondsRoughly(600), "10.0 min");
  EXPECT_EQ(FormatFactor(1.254), "1.25x");
  EXPECT_EQ(FormatError(2.13e-4), "2.1e-4");
  EXPECT_EQ(FormatError(2.13e-14), "2.1e-14");
  EXPECT_EQ(FormatError(0), "0");
  EXPECT_EQ(FormatError(-1), "not finite");
}

TEST(UnitsTest, TheRateFitsTheKernel) {
  using kbench::v1::Throughput;
  using testing::Parse;
  EXPECT_EQ(FormatRate(Parse<Throughput>("flops: 1e11 bytes: 1e8 flops_per_second: 5e13 "
                                         "bytes_per_second: 5e10")),
            "50.00 TFLOP/s");
  EXPECT_EQ(FormatRate(Parse<Throughput>("flops: 1e6 bytes: 4e6 flops_per_second: 5e9 "
                                         "bytes_per_second: 2e10")),
            "20.00 GB/s");
  EXPECT_EQ(FormatRate(Throughput()), "-");
}

TEST(UnitsTest, NoIntervalIsZero) {
  using kbench::v1::TimeDistribution;
  using testing::Parse;
  EXPECT_DOUBLE_EQ(IntervalRatio(Parse<TimeDistribution>("median: 10 low: 9 high: 11")), 0.1);
  EXPECT_EQ(IntervalRatio(Parse<TimeDistribution>("median: 10")), 0);
  EXPECT_EQ(IntervalRatio(TimeDistribution()), 0);
}

TEST(UnitsTest, RatiosAndDurationsAreParsed) {
  double value = 0;
  EXPECT_TRUE(ParseRatio("0.5%", &value));
  EXPECT_DOUBLE_EQ(value, 0.005);
  EXPECT_TRUE(ParseRatio("0.5 %", &value));
  EXPECT_TRUE(ParseRatio("0.02", &value));
  EXPECT_DOUBLE_EQ(value, 0.02);
  for (const char* bad : {"", "%", "half", "0.5x", "nan", "inf"}) {
    EXPECT_FALSE(ParseRatio(bad, &value)) << bad;
  }
  EXPECT_TRUE(ParseDuration("500ms", &value));
  EXPECT_DOUBLE_EQ(value, 0.5);
  EXPECT_TRUE(ParseDuration("10m", &value));
  EXPECT_DOUBLE_EQ(value, 600);
  EXPECT_TRUE(ParseDuration("7d", &value));
  EXPECT_DOUBLE_EQ(value, 604'800);
  for (const char* bad : {"", "s", "7", "0.5", "1 week", "1e999", "10mm"}) {
    EXPECT_FALSE(ParseDuration(bad, &value)) << bad;
  }
}

}  // namespace
}  // namespace kbench::client
