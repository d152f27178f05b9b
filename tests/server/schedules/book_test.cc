#include "server/schedules/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/support/clock.h"

namespace kbench::schedules {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kDay = 86'400;
constexpr double kMidnight = 20'000 * kDay;  // UTC
constexpr double kTwo = kMidnight + 2 * 3600;

kbench::v1::Schedule Nightly(const std::string& name = "nightly") {
  kbench::v1::Schedule schedule;
  schedule.set_name(name);
  schedule.set_owner("ana");
  schedule.set_at("02:00");
  schedule.set_zone("UTC");
  return schedule;
}

bool Ended(const std::string&) { return true; }

TEST(Book, WhatIsDueRunsOnceAndMovesOn) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  EXPECT_EQ(book.NextTime(), kTwo);
  EXPECT_THAT(book.Take(kTwo - 1, Ended), IsEmpty());
  const auto due = book.Take(kTwo + 0.4, Ended);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].due, kTwo);
  EXPECT_EQ(due[0].skipped, "");
  book.Ran("nightly", kTwo, {"jobs/a", "jobs/b"}, "");
  EXPECT_THAT(book.Take(kTwo + 1, Ended), IsEmpty());
  EXPECT_EQ(book.NextTime(), kTwo + kDay);
  const kbench::v1::Schedule& stored = *book.Find("nightly");
  ASSERT_EQ(stored.runs_size(), 1);
  EXPECT_EQ(stored.runs(0).jobs_size(), 2);
  EXPECT_EQ(ToMicros(stored.runs(0).due_time()), static_cast<std::int64_t>(kTwo * 1e6));
}

TEST(Book, ARunThatWasMissedIsSkippedAndShown) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  const kbench::v1::Schedule stored = *book.Find("nightly");
  Book after;  // the coordinator was away for three nights
  ASSERT_TRUE(after.Restore(stored, kTwo + 2.5 * kDay).ok());
  const auto due = after.Take(kTwo + 2.5 * kDay, Ended);
  ASSERT_EQ(due.size(), 1u) << "once, not for each night";
  EXPECT_THAT(due[0].skipped, HasSubstr("the coordinator was away at 2024-10-04 02:00"));
  EXPECT_EQ(after.Find("nightly")->runs(0).skipped(), due[0].skipped);
  EXPECT_EQ(after.NextTime(), kTwo + 3 * kDay) << "nothing is made up for";
}

TEST(Book, ALittleLateIsInTime) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  Book after;
  ASSERT_TRUE(after.Restore(*book.Find("nightly"), kTwo + kLateSeconds).ok());
  const auto due = after.Take(kTwo + kLateSeconds, Ended);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].skipped, "");
}

TEST(Book, ARunIsSkippedWhileTheOneBeforeGoesOn) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  book.Take(kTwo, Ended);
  book.Ran("nightly", kTwo, {"jobs/a", "jobs/b"}, "");
  const auto b_runs = [](const std::string& job) { return job != "jobs/b"; };
  const auto second = book.Take(kTwo + kDay, b_runs);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].skipped, "the run before had not ended");
  const auto third = book.Take(kTwo + 2 * kDay, b_runs);
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].skipped, "the run before had not ended")
      << "the one that ran, not the skipped";
  EXPECT_EQ(book.Take(kTwo + 3 * kDay, Ended)[0].skipped, "");
}

TEST(Book, PausingForgetsTheTimeAndGoingOnBeginsAnew) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  ASSERT_NE(book.Pause("nightly", true, kMidnight), nullptr);
  EXPECT_FALSE(book.Find("nightly")->has_next_time());
  EXPECT_FALSE(book.NextTime());
  EXPECT_THAT(book.Take(kTwo + kDay, Ended), IsEmpty());
  ASSERT_NE(book.Pause("nightly", false, kTwo + 1.5 * kDay), nullptr);
  EXPECT_EQ(book.NextTime(), kTwo + 2 * kDay);
  EXPECT_EQ(book.Pause("weekly", true, 0), nullptr);
  EXPECT_TRUE(book.Remove("nightly"));
  EXPECT_FALSE(book.Remove("nightly"));
}

TEST(Book, AReplacedScheduleKeepsItsRuns) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  for (int night = 0; night < kKeptRuns + 5; ++night) {
    book.Take(kTwo + night * kDay, Ended);
    book.Ran("nightly", kTwo + night * kDay, {"jobs/" + std::to_string(night)}, "");
  }
  kbench::v1::Schedule later = Nightly();
  later.set_at("03:00");
  const auto stored = book.Put(later, kTwo + 30 * kDay);
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(stored->runs_size(), kKeptRuns);
  EXPECT_EQ(stored->runs(0).jobs(0), "jobs/24") << "newest first";
  later.set_at("3 o'clock");
  EXPECT_FALSE(book.Put(later, 0).ok());
  EXPECT_EQ(book.Find("nightly")->at(), "03:00") << "a refused one changes nothing";
}

TEST(Book, CountsWhatIsSkippedAlsoBeyondTheRunsThatAreKept) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  const auto never = [](const std::string&) { return false; };
  book.Take(kTwo, Ended);
  book.Ran("nightly", kTwo, {"jobs/a"}, "");
  EXPECT_EQ(book.SkippedOf("nightly"), 0);
  book.Take(kTwo + kDay, never);
  for (int night = 2; night <= kKeptRuns + 6; ++night) {
    book.Take(kTwo + night * kDay + kLateSeconds + 60, Ended);
  }
  EXPECT_EQ(book.SkippedOf("nightly"), kKeptRuns + 6);
  ASSERT_TRUE(book.Put(Nightly(), kTwo + 100 * kDay).ok());
  EXPECT_EQ(book.SkippedOf("nightly"), kKeptRuns + 6) << "replaced";
  book.Ran("nightly", kTwo + 101 * kDay, {}, "the queue is full");
  EXPECT_EQ(book.SkippedOf("nightly"), kKeptRuns + 7);
  Book after;
  ASSERT_TRUE(after.Restore(*book.Find("nightly"), kTwo + 101 * kDay, 27).ok());
  EXPECT_EQ(after.SkippedOf("nightly"), 27);
  EXPECT_EQ(after.SkippedOf("weekly"), 0);
}

TEST(Book, ARunThatGoesOnIsWaitedForHoweverOftenTheNextIsSkipped) {
  Book book;
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  book.Take(kTwo, Ended);
  book.Ran("nightly", kTwo, {"jobs/a"}, "");
  const auto never = [](const std::string&) { return false; };
  for (int night = 1; night <= kKeptRuns + 10; ++night) {
    const auto due = book.Take(kTwo + night * kDay, never);
    ASSERT_EQ(due.size(), 1u);
    EXPECT_EQ(due[0].skipped, "the run before had not ended") << night;
  }
  const auto& runs = book.Find("nightly")->runs();
  ASSERT_EQ(runs.size(), kKeptRuns);
  EXPECT_EQ(runs[kKeptRuns - 1].jobs(0), "jobs/a");
  EXPECT_EQ(book.Take(kTwo + (kKeptRuns + 11) * kDay, Ended)[0].skipped, "");
}

TEST(Book, ARunIsAwaitedSinceTheScheduleWasMadeOrWentOn) {
  Book book;
  EXPECT_EQ(book.AwaitedOf("nightly"), 0);
  ASSERT_TRUE(book.Put(Nightly(), kMidnight).ok());
  EXPECT_EQ(book.AwaitedOf("nightly"), kMidnight);
  ASSERT_TRUE(book.Put(Nightly(), kMidnight + kDay).ok());
  EXPECT_EQ(book.AwaitedOf("nightly"), kMidnight) << "replaced";
  book.Pause("nightly", true, kMidnight + 2 * kDay);
  EXPECT_EQ(book.AwaitedOf("nightly"), 0) << "nobody waits for a paused one";
  book.Pause("nightly", false, kMidnight + 60 * kDay);
  EXPECT_EQ(book.AwaitedOf("nightly"), kMidnight + 60 * kDay);
  book.Pause("nightly", false, kMidnight + 61 * kDay);
  EXPECT_EQ(book.AwaitedOf("nightly"), kMidnight + 60 * kDay) << "it went on already";
  book.Await("nightly", kMidnight + 62 * kDay);
  EXPECT_EQ(book.AwaitedOf("nightly"), kMidnight + 62 * kDay);
  Book after;
  const kbench::v1::Schedule stored = *book.Find("nightly");
  ASSERT_TRUE(after.Restore(stored, kMidnight + 63 * kDay, 0, kMidnight + 62 * kDay).ok());
  EXPECT_EQ(after.AwaitedOf("nightly"), kMidnight + 62 * kDay);
}

TEST(Book, IsListedByTheNextTime) {
  Book book;
  kbench::v1::Schedule early = Nightly("early");
  early.set_at("01:00");
  kbench::v1::Schedule paused = Nightly("a-paused-one");
  paused.set_paused(true);
  for (const auto& one : {Nightly("z"), early, paused}) {
    ASSERT_TRUE(book.Put(one, kMidnight).ok());
  }
  std::vector<std::string> names;
  for (const auto* one : book.All()) names.push_back(one->name());
  EXPECT_THAT(names, ::testing::ElementsAre("early", "z", "a-paused-one"));
}

}  // namespace
}  // namespace kbench::schedules
