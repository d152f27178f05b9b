// Submissions that wait for their commit: what they hold up, and what becomes of them.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT(google-build-using-namespace)

// Nothing is committed while it lives, and everything that waited is when it is gone.
class SlowDisk {
 public:
  explicit SlowDisk(TestServer& server) : store_(server.server().store()) {
    const auto waits = std::make_shared<std::promise<void>>();
    std::future<void> waiting = waits->get_future();
    store_.Commit({}, [waits, go = go_.get_future().share()](const absl::Status&, const auto&) {
      waits->set_value();
      go.wait();
    });
    waiting.wait();
  }
  ~SlowDisk() {
    go_.set_value();
    std::promise<void> flushed;
    store_.Commit({}, [&](const absl::Status&, const auto&) { flushed.set_value(); });
    flushed.get_future().wait();
  }

 private:
  store::Store& store_;
  std::promise<void> go_;
};

SubmitJobRequest RequestNamed(const std::string& id) {
  SubmitJobRequest request = MatmulJob();
  request.set_request_id(id);
  return request;
}

int JobsOf(TestServer& server) {
  grpc::ClientContext context;
  ListJobsResponse listed;
  EXPECT_TRUE(server.jobs().ListJobs(&context, {}, &listed).ok());
  return listed.jobs_size();
}

TEST(Submits, ThoseThatWaitForTheDiskHoldUpNobodyElse) {
  TestServer server;
  constexpr int kMany = 100;  // more than the server has threads
  std::vector<std::future<absl::StatusOr<Job>>> answers;
  {
    const SlowDisk disk(server);
    for (int i = 0; i < kMany; ++i) {
      answers.push_back(std::async(std::launch::async, [&] { return server.Submit(MatmulJob()); }));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    GetJobRequest request;
    request.set_name("jobs/none");
    Job job;
    EXPECT_EQ(server.jobs().GetJob(&context, request, &job).error_code(),
              grpc::StatusCode::NOT_FOUND);
    for (auto& answer : answers) {
      EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
          << "nothing is acknowledged before it is durable";
    }
  }
  std::set<std::string> names;
  for (auto& answer : answers) names.insert(answer.get()->name());
  EXPECT_EQ(names.size(), kMany);
  EXPECT_EQ(names.count(""), 0u);
}

TEST(Submits, AClientThatGoesAwayLeavesItsJobAndFindsItAgain) {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.limits.most_jobs_of_owner = 2;
  TestServer server(options);
  {
    const SlowDisk disk(server);
    grpc::ClientContext cancelled;
    grpc::ClientContext late;
    late.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    std::thread goes([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cancelled.TryCancel();
    });
    Job job;
    EXPECT_EQ(server.jobs().SubmitJob(&cancelled, RequestNamed("gone"), &job).error_code(),
              grpc::StatusCode::CANCELLED);
    EXPECT_EQ(server.jobs().SubmitJob(&late, RequestNamed("late"), &job).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
    goes.join();
  }
  const Job gone = server.MustSubmit(RequestNamed("gone"));
  const Job late = server.MustSubmit(RequestNamed("late"));
  EXPECT_NE(gone.name(), late.name());
  EXPECT_EQ(JobsOf(server), 2) << "each was stored once";
  EXPECT_EQ(DetailsOf(server.Submit(RequestNamed("third")).status()).reason, "OWNER_JOBS");
  server.Cancel(gone.name()).IgnoreError();
  EXPECT_TRUE(server.Submit(RequestNamed("third")).ok()) << "and counts once";
}

TEST(Submits, AShutdownAnswersWhoWaits) {
  TestServer server;
  std::future<absl::StatusOr<Job>> answer;
  std::thread stopping;
  {
    const SlowDisk disk(server);
    answer = std::async(std::launch::async, [&] { return server.Submit(RequestNamed("last")); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stopping = std::thread([&] { server.server().Shutdown(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  stopping.join();
  const absl::StatusOr<Job> job = answer.get();
  ASSERT_TRUE(job.ok()) << job.status();
  server.Restart();
  EXPECT_EQ(server.MustSubmit(RequestNamed("last")).name(), job->name());
}

TEST(Submits, ARepetitionCostsNothingAndIsAnsweredWhateverIsWrongByNow) {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.limits.submits_per_second = 1e-6;
  options.limits.submit_burst = 3;
  TestServer server(options);
  const Job first = server.MustSubmit(RequestNamed("first"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(server.MustSubmit(RequestNamed("first")).name(), first.name());
  }
  server.MustSubmit(RequestNamed("second"));
  server.MustSubmit(RequestNamed("third"));
  EXPECT_EQ(DetailsOf(server.Submit(RequestNamed("fourth")).status()).reason, "SUBMIT_RATE");
  EXPECT_EQ(server.MustSubmit(RequestNamed("first")).name(), first.name());
  SubmitJobRequest other = RequestNamed("first");
  other.mutable_spec()->mutable_cases(0)->set_size("128");
  EXPECT_EQ(DetailsOf(server.Submit(other).status()).reason, "REQUEST_ID_REUSED");
}

}  // namespace
}  // namespace kbench::server
