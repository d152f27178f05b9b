#include "server/schedules/rhythm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/support/error.h"

namespace kbench::schedules {
namespace {

using ::testing::HasSubstr;

Rhythm Make(const std::string& at, const std::string& zone, std::vector<std::string> days = {}) {
  const auto rhythm = MakeRhythm(at, zone, days);
  EXPECT_TRUE(rhythm.ok()) << rhythm.status();
  return rhythm.ok() ? *rhythm : Rhythm();
}

double At(const std::string& text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

std::string FieldOf(const absl::Status& status) {
  const ErrorDetails details = DetailsOf(status);
  return details.violations.size() == 1 ? details.violations[0].field : "";
}

TEST(Rhythm, IsDueOnceADay) {
  const Rhythm nightly = Make("02:00", "UTC");
  EXPECT_EQ(NextDue(nightly, At("2026-12-01T01:59:59Z")), At("2026-12-01T02:00:00Z"));
  EXPECT_EQ(NextDue(nightly, At("2026-12-01T02:00:00Z")), At("2026-12-02T02:00:00Z"))
      << "behind, not at";
  EXPECT_EQ(LongestInterval(nightly), 86'400);
}

TEST(Rhythm, KeepsToItsZone) {
  EXPECT_EQ(NextDue(Make("02:00", "Europe/Vienna"), At("2026-07-01T00:00:00Z")),
            At("2026-07-02T00:00:00Z"));
  EXPECT_EQ(NextDue(Make("02:00", "Europe/Vienna"), At("2026-12-01T00:00:00Z")),
            At("2026-12-01T01:00:00Z"));
}

TEST(Rhythm, KeepsToItsDays) {
  const Rhythm twice = Make("23:30", "UTC", {"mon", "thu"});
  EXPECT_EQ(NextDue(twice, At("2026-12-01T00:00:00Z")), At("2026-12-03T23:30:00Z")) << "a Tuesday";
  EXPECT_EQ(NextDue(twice, At("2026-12-03T23:30:00Z")), At("2026-12-07T23:30:00Z"));
  EXPECT_EQ(LongestInterval(twice), 4 * 86'400);
  EXPECT_EQ(LongestInterval(Make("00:00", "UTC", {"sun"})), 7 * 86'400);
  EXPECT_EQ(NextDue(Make("00:00", "UTC", {"tue"}), At("2026-12-01T00:00:00Z")),
            At("2026-12-08T00:00:00Z"));
}

// Vienna: on 2026-03-29 it is 03:00 after 01:59, on 2026-10-25 02:59 is followed by 02:00.
TEST(Rhythm, ATimeThatADayHasNotComesAnHourLater) {
  const Rhythm nightly = Make("02:30", "Europe/Vienna");
  EXPECT_EQ(NextDue(nightly, At("2026-03-28T12:00:00Z")), At("2026-03-29T01:30:00Z"));
  EXPECT_EQ(NextDue(nightly, At("2026-03-29T01:30:00Z")), At("2026-03-30T00:30:00Z"));
}

TEST(Rhythm, ATimeThatADayHasTwiceIsTakenOnce) {
  const Rhythm nightly = Make("02:30", "Europe/Vienna");
  EXPECT_EQ(NextDue(nightly, At("2026-10-24T12:00:00Z")), At("2026-10-25T00:30:00Z"));
  EXPECT_EQ(NextDue(nightly, At("2026-10-25T00:30:00Z")), At("2026-10-26T01:30:00Z"));
}

TEST(Rhythm, WhatIsWrongIsNamedWithWhatWouldBeRight) {
  for (const char* at : {"", "2:00", "24:00", "02:60", "0200", "02:0a", "aa:00"}) {
    const auto rhythm = MakeRhythm(at, "UTC", {});
    ASSERT_FALSE(rhythm.ok()) << at;
    EXPECT_EQ(FieldOf(rhythm.status()), "at");
    EXPECT_THAT(MessageOf(rhythm.status()), HasSubstr("write 02:00"));
  }
  const auto zone = MakeRhythm("02:00", "Europe/Wien", {});
  EXPECT_EQ(FieldOf(zone.status()), "zone");
  EXPECT_THAT(MessageOf(zone.status()), HasSubstr("'Europe/Wien'"));
  const auto day = MakeRhythm("02:00", "UTC", {"mon", "Tuesday"});
  EXPECT_EQ(FieldOf(day.status()), "days[1]");
  EXPECT_THAT(MessageOf(day.status()), HasSubstr("mon, tue, wed"));
}

}  // namespace
}  // namespace kbench::schedules
