#include "client/follow.h"

#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using testing::FakeCoordinator;
using ::testing::HasSubstr;

class Recorder final : public JobObserver {
 public:
  void OnEvent(const kbench::v1::JobEvent& event, const JobView&) override {
    events.push_back(event.sequence());
    if (on_event) on_event();
  }
  void OnCaseEnded(const kbench::v1::Job&, const kbench::v1::CaseStatus& status) override {
    ended.push_back(status.index());
    rows.push_back(status.results_size());
  }
  void OnReconnecting() override {
    ++reconnects;
    if (on_reconnecting) on_reconnecting();
  }

  std::vector<std::int64_t> events;
  std::vector<int> ended;
  std::vector<int> rows;
  int reconnects = 0;
  std::function<void()> on_event;
  std::function<void()> on_reconnecting;
};

constexpr FollowOptions kFast{
    .give_up_seconds = 1, .first_pause_seconds = 0.01, .longest_pause_seconds = 0.05};

const char kSnapshot[] = R"(snapshot { name: "jobs/a" state: JOB_STATE_RUNNING last_sequence: 1
    cases { index: 0 state: JOB_STATE_RUNNING } cases { index: 1 state: JOB_STATE_QUEUED } })";
const char kFirstEnd[] =
    R"(sequence: 2 case_changed { index: 0 state: JOB_STATE_SUCCEEDED results { } })";
const char kSecondEnd[] =
    R"(sequence: 3 case_changed { index: 1 state: JOB_STATE_SUCCEEDED results { } results { } })";
const char kFinal[] = R"(sequence: 4 final { name: "jobs/a" state: JOB_STATE_SUCCEEDED
    cases { index: 0 state: JOB_STATE_SUCCEEDED } cases { index: 1 state: JOB_STATE_SUCCEEDED } })";

TEST(FollowTest, ToTheEnd) {
  FakeCoordinator fake;
  fake.jobs.streams = {
      {.events = {Event(kSnapshot), Event(kFirstEnd), Event(kSecondEnd), Event(kFinal)}}};
  Recorder recorder;
  Interrupt interrupt;
  const auto result = Follow(fake.Connect(), "jobs/a", kFast, interrupt, recorder);
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.job.state(), kbench::v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(recorder.events, ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(recorder.ended, ElementsAre(0, 1));
  EXPECT_THAT(recorder.rows, ElementsAre(1, 2));
  EXPECT_EQ(recorder.reconnects, 0);
}

TEST(FollowTest, ResumesAfterABrokenStreamWithoutSayingAnythingTwice) {
  FakeCoordinator fake;
  fake.jobs.plain_end = true;
  // The second stream repeats what the first one told, as a server after a restart may.
  fake.jobs.streams = {
      {.events = {Event(kSnapshot), Event(kFirstEnd)}, .end = absl::UnavailableError("")},
      {.events = {}, .end = absl::UnavailableError("")},
      {.events = {Event(kSnapshot), Event(kFirstEnd), Event(kSecondEnd), Event(kFinal)}}};
  Recorder recorder;
  Interrupt interrupt;
  const auto result = Follow(fake.Connect(), "jobs/a", kFast, interrupt, recorder);
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(recorder.events, ElementsAre(0, 2, 0, 3, 4));
  EXPECT_THAT(recorder.ended, ElementsAre(0, 1));
  EXPECT_EQ(recorder.reconnects, 2);
  ASSERT_EQ(fake.jobs.watched.size(), 3U);
  EXPECT_EQ(fake.jobs.watched[1].after_sequence(), 2);
}

TEST(FollowTest, AnEndWithoutFinalIsResumedToo) {
  FakeCoordinator fake;
  fake.jobs.streams = {
      {.events = {Event(kSnapshot)}},
      {.events = {Event(kSnapshot), Event(kFirstEnd), Event(kSecondEnd), Event(kFinal)}}};
  Recorder recorder;
  Interrupt interrupt;
  EXPECT_TRUE(Follow(fake.Connect(), "jobs/a", kFast, interrupt, recorder).status.ok());
  EXPECT_THAT(recorder.ended, ElementsAre(0, 1));
}

TEST(FollowTest, GivesUpOnACoordinatorThatStaysAway) {
  FakeCoordinator fake;
  fake.jobs.plain_end = true;
  fake.jobs.streams = {{.events = {Event(kSnapshot)}, .end = absl::UnavailableError("")}};
  for (int i = 0; i < 200; ++i)
    fake.jobs.streams.push_back({.events = {}, .end = absl::UnavailableError("")});
  Recorder recorder;
  Interrupt interrupt;
  FollowOptions options = kFast;
  options.give_up_seconds = 0.2;
  const auto result = Follow(fake.Connect(), "jobs/a", options, interrupt, recorder);
  EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(result.job.name(), "jobs/a");
  EXPECT_GT(recorder.reconnects, 2);
}

TEST(FollowTest, ARealErrorEndsIt) {
  FakeCoordinator fake;
  fake.jobs.streams = {
      {.events = {},
       .end = MakeError(absl::StatusCode::kNotFound, "there is no job zzz",
                        {.reason = "JOB_NOT_FOUND", .metadata = {}, .violations = {}})}};
  Recorder recorder;
  Interrupt interrupt;
  const auto result = Follow(fake.Connect(), "jobs/zzz", kFast, interrupt, recorder);
  EXPECT_EQ(result.status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(result.status), HasSubstr("no job zzz"));
  EXPECT_EQ(recorder.reconnects, 0);
}

TEST(FollowTest, MissingResultsAreFetched) {
  FakeCoordinator fake;
  fake.jobs.job = testing::Parse<kbench::v1::Job>(
      R"(name: "jobs/a" cases { index: 0 state: JOB_STATE_SUCCEEDED results { } results { } })");
  fake.jobs.streams = {{.events = {Event(
                            R"(sequence: 4 final { name: "jobs/a" state: JOB_STATE_SUCCEEDED
                               cases { index: 0 state: JOB_STATE_SUCCEEDED } })")}}};
  Recorder recorder;
  Interrupt interrupt;
  EXPECT_TRUE(Follow(fake.Connect(), "jobs/a", kFast, interrupt, recorder).status.ok());
  EXPECT_THAT(recorder.rows, ElementsAre(2));
}

TEST(FollowTest, InterruptEndsTheWatchAtOnce) {
  FakeCoordinator fake;
  fake.jobs.streams = {{.events = {Event(kSnapshot)}, .hang = true}};
  Recorder recorder;
  Interrupt interrupt;
  std::thread presser;
  recorder.on_event = [&] { presser = std::thread([&] { EXPECT_TRUE(interrupt.Fire()); }); };
  const auto start = std::chrono::steady_clock::now();
  const auto result = Follow(fake.Connect(), "jobs/a", kFast, interrupt, recorder);
  presser.join();
  EXPECT_TRUE(result.interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_FALSE(interrupt.Fire()) << "a second Ctrl-C ends the process";
}

TEST(FollowTest, InterruptWhileReconnectingDetachesToo) {
  FakeCoordinator fake;
  fake.jobs.plain_end = true;
  fake.jobs.streams = {{.events = {Event(kSnapshot)}, .end = absl::UnavailableError("")}};
  Recorder recorder;
  Interrupt interrupt;
  recorder.on_reconnecting = [&] { EXPECT_TRUE(interrupt.Fire()) << "somebody is there to react"; };
  FollowOptions slow = kFast;
  slow.first_pause_seconds = 30;
  const auto result = Follow(fake.Connect(), "jobs/a", slow, interrupt, recorder);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.job.name(), "jobs/a");
}

}  // namespace
}  // namespace kbench::client
