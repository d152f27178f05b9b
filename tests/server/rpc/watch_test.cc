// WatchJob: snapshot, numbered events, final; resuming; pings and progress; slow readers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states

class Watch {
 public:
  Watch(TestServer& server, const std::string& job, std::int64_t after = 0) {
    WatchJobRequest request;
    request.set_name(job);
    request.set_after_sequence(after);
    reader_ = server.jobs().WatchJob(&context_, request);
  }
  ~Watch() {
    context_.TryCancel();
    if (!finished_) reader_->Finish();
  }
  bool Next(JobEvent* event) { return reader_->Read(event); }
  // Up to the end, without ephemeral events.
  std::vector<JobEvent> Rest() {
    std::vector<JobEvent> events;
    JobEvent event;
    while (Next(&event)) {
      if (event.sequence() > 0 || event.has_snapshot()) events.push_back(event);
    }
    return events;
  }
  absl::Status End() {
    finished_ = true;
    return FromGrpc(reader_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<JobEvent>> reader_;
  bool finished_ = false;
};

TEST(WatchJob, SnapshotThenNumberedEventsThenFinal) {
  TestServer server;
  const kbench::v1::Job job = server.MustSubmit(MatmulJob(2));
  Watch watch(server, job.name());
  JobEvent first;
  ASSERT_TRUE(watch.Next(&first));
  ASSERT_TRUE(first.has_snapshot());
  EXPECT_EQ(first.snapshot().reason(), "NO_DEVICE");
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  worker.RunOne();
  worker.RunOne();
  const std::vector<JobEvent> events = watch.Rest();
  EXPECT_TRUE(watch.End().ok());
  ASSERT_EQ(events.size(), 5u) << "two starts, two ends, final";
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence(), first.sequence() + 1 + static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(events[0].case_changed().state(), JOB_STATE_RUNNING);
  EXPECT_EQ(events[1].case_changed().state(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(events[1].case_changed().results_size(), 2);
  EXPECT_EQ(events[1].case_changed().spec().size(), "64");
  EXPECT_EQ(events[4].final().state(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(events[4].final().cases(1).results_size(), 2);
}

TEST(WatchJob, AnEndedJobIsASnapshotAndFinal) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const kbench::v1::Job job = server.MustSubmit(MatmulJob());
  worker.RunOne();
  for (const std::int64_t after : {0, 2, 99}) {
    Watch watch(server, job.name(), after);
    const std::vector<JobEvent> events = watch.Rest();
    EXPECT_TRUE(watch.End().ok());
    ASSERT_EQ(events.size(), 2u);
    EXPECT_TRUE(events[0].has_snapshot());
    EXPECT_EQ(events[0].snapshot().cases(0).results_size(), 2);
    EXPECT_TRUE(events[1].has_final());
  }
}

TEST(WatchJob, ResumesAfterABreakAndARestart) {
  TestServer server;
  const kbench::v1::Job job = server.MustSubmit(MatmulJob(2));
  std::int64_t last = 0;
  {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
    Watch watch(server, job.name());
    JobEvent event;
    worker.RunOne();
    while (last < 2 && watch.Next(&event)) last = std::max(last, event.sequence());
    server.Restart();
    watch.Rest();
    EXPECT_EQ(watch.End().code(), absl::StatusCode::kUnavailable) << "no final: to be resumed";
  }
  Watch watch(server, job.name(), last);
  JobEvent snapshot;
  ASSERT_TRUE(watch.Next(&snapshot));
  ASSERT_TRUE(snapshot.has_snapshot());
  EXPECT_GE(snapshot.sequence(), last);
  EXPECT_EQ(snapshot.snapshot().cases(0).results_size(), 2);
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), "boot2");
  worker.RunOne();
  std::int64_t sequence = snapshot.sequence();
  for (const JobEvent& event : watch.Rest()) {
    EXPECT_EQ(event.sequence(), ++sequence) << "nothing twice, nothing missed";
    last = event.sequence();
  }
  EXPECT_TRUE(watch.End().ok());
}

TEST(WatchJob, ProgressAndPositionsAreEphemeral) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  const kbench::v1::Job running = server.MustSubmit(MatmulJob());
  const kbench::v1::Job waiting = server.MustSubmit(MatmulJob());
  Watch watch_running(server, running.name());
  Watch watch_waiting(server, waiting.name());
  JobEvent event;
  ASSERT_TRUE(watch_running.Next(&event));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  // The stream is a watcher a moment after its snapshot: repeat until it is heard.
  std::thread teller([&] {
    for (int i = 0; i < 50; ++i) {
      worker.Progress(assign->id(), 7);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  do {
    ASSERT_TRUE(watch_running.Next(&event));
  } while (!event.has_progress());
  EXPECT_EQ(event.sequence(), 0);
  EXPECT_EQ(event.progress().round(), 7);
  teller.join();
  ASSERT_TRUE(watch_waiting.Next(&event));
  EXPECT_EQ(event.snapshot().queue_position(), 1);
  worker.SendResult(FakeWorker::GoodResult(*assign));
  do {
    ASSERT_TRUE(watch_waiting.Next(&event));
  } while (event.sequence() == 0);
  EXPECT_EQ(event.case_changed().state(), JOB_STATE_RUNNING);
}

TEST(WatchJob, AnUnknownJobIsNotFound) {
  TestServer server;
  Watch watch(server, "jobs/none");
  EXPECT_TRUE(watch.Rest().empty());
  EXPECT_EQ(watch.End().code(), absl::StatusCode::kNotFound);
}

TEST(WatchJob, AReaderThatDoesNotReadIsDroppedAndCanResume) {
  TestServer server;
  std::vector<std::string> jobs;
  const kbench::v1::Job job = server.MustSubmit(MatmulJob(1000));
  Watch slow(server, job.name());
  JobEvent event;
  ASSERT_TRUE(slow.Next(&event));
  {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
    for (int i = 0; i < 1000; ++i) {
      const auto assign = worker.Assign();
      ASSERT_TRUE(assign.has_value());
      AttemptResult result;
      *result.mutable_id() = assign->id();
      result.add_results()->set_message(std::string(100'000, 'x'));  // 100 MB in all
      worker.SendResult(result);
    }
  }
  std::int64_t last = event.sequence();
  while (slow.Next(&event)) {
    if (event.sequence() == 0) continue;
    ASSERT_EQ(event.sequence(), last + 1);
    last = event.sequence();
  }
  const absl::Status end = slow.End();
  ASSERT_EQ(end.code(), absl::StatusCode::kAborted) << end;
  EXPECT_THAT(MessageOf(end), ::testing::HasSubstr("resume with after_sequence"));
}

}  // namespace
}  // namespace kbench::server
