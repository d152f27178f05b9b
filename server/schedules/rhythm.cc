#include "server/schedules/rhythm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "absl/time/civil_time.h"
#include "proto/support/error.h"

namespace kbench::schedules {
namespace {

constexpr std::array<const char*, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr double kDaySeconds = 86'400;

absl::Status Wrong(const std::string& field, const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message,
                   {.reason = "BAD_SCHEDULE", .violations = {{field, message}}});
}

bool TwoDigits(const std::string& text, std::size_t from, int below, int& value) {
  if (text[from] < '0' || text[from] > '9' || text[from + 1] < '0' || text[from + 1] > '9') {
    return false;
  }
  value = 10 * (text[from] - '0') + (text[from + 1] - '0');
  return value < below;
}

int DayOf(absl::CivilDay day) {
  // absl counts from Monday too.
  return static_cast<int>(absl::GetWeekday(day));
}

}  // namespace

absl::StatusOr<Rhythm> MakeRhythm(const std::string& at, const std::string& zone,
                                  const std::vector<std::string>& days) {
  Rhythm rhythm;
  const bool good = at.size() == 5 && at[2] == ':' && TwoDigits(at, 0, 24, rhythm.hour) &&
                    TwoDigits(at, 3, 60, rhythm.minute);
  if (!good) {
    return Wrong("at", fmt::format("'{}' is no time of the day; write 02:00 or 14:30", at));
  }
  rhythm.zone = absl::LocalTimeZone();
  // absl's own name for the machine's zone: it would mean another one elsewhere.
  if (zone == "localtime") {
    return Wrong("zone", "'localtime' names no zone; leave it out for the coordinator's own");
  }
  if (!zone.empty() && !absl::LoadTimeZone(zone, &rhythm.zone)) {
    return Wrong("zone", fmt::format("there is no time zone '{}' on this machine; write "
                                     "Europe/Vienna, America/New_York or UTC",
                                     zone));
  }
  for (std::size_t i = 0; i < days.size(); ++i) {
    const auto day = std::find(kDays.begin(), kDays.end(), days[i]);
    if (day == kDays.end()) {
      return Wrong(fmt::format("days[{}]", i),
                   fmt::format("'{}' is no day; write {}", days[i], fmt::join(kDays, ", ")));
    }
    const auto index = static_cast<std::size_t>(day - kDays.begin());
    if (rhythm.days.test(index)) {
      return Wrong(fmt::format("days[{}]", i), fmt::format("{} stands there twice", days[i]));
    }
    rhythm.days.set(index);
  }
  if (days.empty()) rhythm.days.set();
  return rhythm;
}

double NextDue(const Rhythm& rhythm, double after) {
  const absl::Time now = absl::UnixEpoch() + absl::Seconds(after);
  absl::CivilDay day = absl::ToCivilDay(now, rhythm.zone);
  // A week later at the latest; one more day for a zone that left one out.
  for (int i = 0; i <= 8; ++i, ++day) {
    if (!rhythm.days.test(static_cast<std::size_t>(DayOf(day)))) continue;
    const absl::CivilSecond local(day.year(), day.month(), day.day(), rhythm.hour, rhythm.minute);
    const absl::Time due = rhythm.zone.At(local).pre;
    if (due > now) return absl::ToDoubleSeconds(due - absl::UnixEpoch());
  }
  std::abort();  // a rhythm has a day
}

double LongestInterval(const Rhythm& rhythm) {
  int longest = 0;
  for (int day = 0; day < 7; ++day) {
    if (!rhythm.days.test(static_cast<std::size_t>(day))) continue;
    int gap = 1;
    while (!rhythm.days.test(static_cast<std::size_t>((day + gap) % 7))) ++gap;
    longest = std::max(longest, gap);
  }
  return kDaySeconds * longest;
}

}  // namespace kbench::schedules
