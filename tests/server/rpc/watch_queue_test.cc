// WatchQueue: what changes is told, slow readers cost nothing, dead ones are forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "proto/support/rpc_status.h"
#include "server/rpc/queue_hub.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using kbench::v1::GetQueueRequest;
using kbench::v1::QueueSnapshot;

class QueueWatch {
 public:
  explicit QueueWatch(TestServer& server, const GetQueueRequest& request = {})
      : reader_(server.jobs().WatchQueue(&context_, request)) {}
  ~QueueWatch() {
    Cancel();
    End().IgnoreError();
  }
  bool Next(QueueSnapshot* snapshot) { return reader_->Read(snapshot); }
  // The next snapshot for which the condition holds.
  bool Until(const std::function<bool(const QueueSnapshot&)>& holds, QueueSnapshot* snapshot) {
    while (Next(snapshot)) {
      if (holds(*snapshot)) return true;
    }
    return false;
  }
  void Cancel() { context_.TryCancel(); }
  absl::Status End() {
    if (!finished_) {
      QueueSnapshot rest;
      while (reader_->Read(&rest)) {
      }
      end_ = FromGrpc(reader_->Finish());
    }
    finished_ = true;
    return end_;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<QueueSnapshot>> reader_;
  bool finished_ = false;
  absl::Status end_;
};

CoordinatorOptions Quick() {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.queue_seconds = 0.05;
  return options;
}

TEST(WatchQueue, TellsWhatChanges) {
  TestServer server(Quick());
  QueueWatch watch(server);
  QueueSnapshot queue;
  ASSERT_TRUE(watch.Next(&queue)) << "the first at once";
  EXPECT_EQ(queue.waiting_jobs(), 0);
  const auto job = server.MustSubmit(MatmulJob());
  ASSERT_TRUE(watch.Until([](const auto& q) { return q.waiting_size() == 1; }, &queue));
  EXPECT_EQ(queue.waiting(0).job(), job.name());
  EXPECT_EQ(queue.waiting(0).reason(), "NO_DEVICE");
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(watch.Until(
      [](const auto& q) { return q.devices_size() == 1 && q.devices(0).has_running(); }, &queue));
  EXPECT_EQ(queue.waiting_jobs(), 0);
  worker.RunOne();
  ASSERT_TRUE(watch.Until([](const auto& q) { return !q.devices(0).has_running(); }, &queue));
}

TEST(WatchQueue, EndsWithUnavailableWhenTheCoordinatorStops) {
  TestServer server(Quick());
  QueueWatch watch(server);
  QueueSnapshot queue;
  ASSERT_TRUE(watch.Next(&queue));
  std::thread stopper([&] { server.server().Shutdown(); });
  while (watch.Next(&queue)) {
  }
  EXPECT_EQ(watch.End().code(), absl::StatusCode::kUnavailable);
  stopper.join();
}

// The ways a watcher may be: here without a wire, so that time is the test's.
class Recorder final : public QueueWatcher {
 public:
  void Deliver(Snapshot snapshot) override { got.push_back(std::move(snapshot)); }
  void Close(const absl::Status& status) override { closed = status; }
  void Tick(double) override { ++ticks; }
  std::vector<Snapshot> got;
  std::optional<absl::Status> closed;
  int ticks = 0;
};

TEST(QueueHub, TwiceASecondAtMostOnlyChangesAndAPing) {
  QueueHub hub(0.5, 15);
  const auto watcher = std::make_shared<Recorder>();
  QueueSnapshot now;
  int looks = 0;
  const QueueHub::Look look = [&](const auto& requests) {
    ++looks;
    now.mutable_time()->set_seconds(now.time().seconds() + 1);
    return std::vector<QueueSnapshot>(requests.size(), now);
  };
  hub.Tick(100, look);
  EXPECT_EQ(looks, 0) << "nobody watches";
  ASSERT_TRUE(hub.Add({}, watcher));
  hub.Tick(100.1, look);
  EXPECT_EQ(watcher->got.size(), 1u) << "the first at once";
  now.set_waiting_jobs(1);
  hub.Tick(100.2, look);
  EXPECT_EQ(watcher->got.size(), 1u) << "too soon";
  hub.Tick(100.7, look);
  ASSERT_EQ(watcher->got.size(), 2u);
  EXPECT_EQ(watcher->got[1]->waiting_jobs(), 1);
  for (double t = 101.3; t < 115; t += 0.5) hub.Tick(t, look);
  EXPECT_EQ(watcher->got.size(), 2u) << "nothing has changed but the time";
  hub.Tick(116, look);
  EXPECT_EQ(watcher->got.size(), 3u) << "a sign of life";
}

TEST(QueueHub, WhoAsksForTheSameSharesASnapshot) {
  QueueHub hub(0.5, 15);
  std::vector<std::shared_ptr<Recorder>> watchers;
  std::size_t asked = 0;
  const QueueHub::Look look = [&](const auto& requests) {
    asked += requests.size();
    return std::vector<QueueSnapshot>(requests.size());
  };
  for (int i = 0; i < 200; ++i) {
    watchers.push_back(std::make_shared<Recorder>());
    ASSERT_TRUE(hub.Add({}, watchers.back()));
  }
  hub.Tick(1, look);
  EXPECT_EQ(asked, 1u);
  for (const auto& watcher : watchers) {
    ASSERT_EQ(watcher->got.size(), 1u);
    EXPECT_EQ(watcher->got[0], watchers[0]->got[0]) << "one copy for all";
  }
  // One more hears what there is, the others nothing twice.
  const auto late = std::make_shared<Recorder>();
  ASSERT_TRUE(hub.Add({}, late));
  hub.Tick(2, look);
  EXPECT_EQ(late->got.size(), 1u);
  EXPECT_EQ(watchers[0]->got.size(), 1u);
  for (const auto& watcher : watchers) hub.Remove(watcher.get());
  EXPECT_EQ(hub.size(), 1);
  hub.CloseAll(absl::UnavailableError("stopping"));
  EXPECT_EQ(late->closed->code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(hub.Add({}, watchers[0]));
  EXPECT_EQ(watchers[0]->closed->code(), absl::StatusCode::kUnavailable);
}

TEST(QueueHub, DifferentRequestsAreBounded) {
  QueueHub hub(0.5, 15);
  std::vector<std::shared_ptr<Recorder>> watchers;
  GetQueueRequest request;
  bool added = true;
  while (added && watchers.size() < 10'000) {
    watchers.push_back(std::make_shared<Recorder>());
    request.set_owner(std::to_string(watchers.size()));
    added = hub.Add(request, watchers.back());
  }
  ASSERT_FALSE(added);
  EXPECT_EQ(watchers.back()->closed->code(), absl::StatusCode::kResourceExhausted);
  request.set_owner("1");
  EXPECT_TRUE(hub.Add(request, std::make_shared<Recorder>())) << "somebody sees that already";
}

TEST(WatchQueue, TwoHundredWatchersHearAndASlowOneDelaysNobody) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  // Jobs that make every snapshot large, so that a reader that does not read fills its window.
  for (int i = 0; i < 50; ++i) server.MustSubmit(MatmulJob(1, "cpu"));
  std::vector<std::unique_ptr<QueueWatch>> slow;
  QueueSnapshot queue;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<QueueWatch>(server));
    ASSERT_TRUE(slow.back()->Next(&queue));  // and never again
  }
  std::atomic<int> heard{0};
  std::vector<std::unique_ptr<QueueWatch>> watches;
  std::vector<std::thread> readers;
  for (int i = 0; i < 200; ++i) {
    watches.push_back(std::make_unique<QueueWatch>(server));
    readers.emplace_back([&heard, watch = watches.back().get()] {
      QueueSnapshot snapshot;
      const bool saw = watch->Until([](const auto& q) { return q.waiting_jobs() == 0; }, &snapshot);
      if (saw) ++heard;
    });
  }
  for (int i = 0; i < 50; ++i) worker.RunOne();
  for (int i = 0; i < 3000 && heard < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(heard, 200);
  for (auto& watch : watches) watch->Cancel();
  for (auto& reader : readers) reader.join();
  // The slow ones have missed what lay between, not the end.
  for (auto& watch : slow) {
    EXPECT_TRUE(watch->Until([](const auto& q) { return q.waiting_jobs() == 0; }, &queue));
  }
}

TEST(WatchQueue, WatchersThatHaveGoneAreForgotten) {
  TestServer server(Quick(), "127.0.0.1:0");
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<QueueWatch>> watches;
    for (int i = 0; i < 20; ++i) watches.push_back(std::make_unique<QueueWatch>(server));
    QueueSnapshot queue;
    for (auto& watch : watches) ASSERT_TRUE(watch->Next(&queue));
  }
  const auto watchers = [&] {
    const std::string text = server.server().metrics().Text();
    return text.find("kbench_watchers 0") != std::string::npos;
  };
  bool none = false;
  for (int i = 0; i < 1000 && !none; ++i) {
    none = watchers();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(none);
}

}  // namespace
}  // namespace kbench::server
