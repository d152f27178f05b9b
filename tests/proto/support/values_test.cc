// Clocks and ids.
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"

namespace kbench {
namespace {

TEST(Clock, ConvertsWithoutLoss) {
  const int64_t micros = 1'796'000'000'123'456;
  EXPECT_EQ(ToMicros(ToTimestamp(micros)), micros);
  EXPECT_DOUBLE_EQ(ToSeconds(ToDuration(1.25)), 1.25);
  EXPECT_DOUBLE_EQ(ToSeconds(ToDuration(-0.5)), -0.5);
}

TEST(Clock, FakeAdvances) {
  FakeClock clock(5);
  clock.Advance(2.5);
  EXPECT_EQ(clock.WallMicros(), 2'500'005);
}

TEST(Ids, AreDistinctAndTypable) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(RandomId(10));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(seen.begin()->find_first_of("ilou"), std::string::npos);
  const std::string uuid = RandomUuid();
  EXPECT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[14], '4');
}

TEST(Ids, JobNamesBothWays) {
  EXPECT_EQ(JobName("abc"), "jobs/abc");
  EXPECT_EQ(JobName("jobs/abc"), "jobs/abc");
  EXPECT_EQ(JobId("jobs/abc"), "abc");
  EXPECT_EQ(JobId("abc"), "abc");
}

}  // namespace
}  // namespace kbench
