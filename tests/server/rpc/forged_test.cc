// What no honest client or worker sends: forged epochs, replays, other workers' attempts, old and
// foreign messages, texts that are no text, requests that are too large. Each gets its documented
// answer, and nothing changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "grpcpp/channel.h"
#include "proto/support/rpc_status.h"
#include "server/auth/methods.h"
#include "tests/server/auth/secured_server.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// A device with two workers' streams: one holds the attempt, the other lies about it.
class ForgedTest : public ::testing::Test {
 protected:
  ForgedTest()
      : honest_(server_, "w1", FakeDevice("cpu", "cpu")),
        liar_(server_, "w2", FakeDevice("cpu2", "cpu")) {
    EXPECT_TRUE(honest_.Welcome() && liar_.Welcome());
    job_ = server_.MustSubmit(MatmulJob(1, "cpu"));
    assign_ = honest_.Assign().value_or(Assign());
    before_ = server_.Get(job_.name())->SerializeAsString();
  }
  void ExpectNothingChanged() { EXPECT_EQ(server_.Get(job_.name())->SerializeAsString(), before_); }
  void ExpectTheHonestOneIsStillHeard() {
    honest_.SendResult(FakeWorker::GoodResult(assign_));
    const auto ack = honest_.Ack();
    ASSERT_TRUE(ack.has_value());
    EXPECT_FALSE(ack->stale());
    EXPECT_EQ(server_.WaitFor(job_.name(), JOB_STATE_SUCCEEDED).cases(0).worker(), "w1");
  }

  TestServer server_;
  FakeWorker honest_;
  FakeWorker liar_;
  Job job_;
  Assign assign_;
  std::string before_;
};

TEST_F(ForgedTest, AResultForAnotherWorkersAttemptIsStale) {
  liar_.SendResult(FakeWorker::GoodResult(assign_));
  EXPECT_TRUE(liar_.Ack()->stale());
  ExpectNothingChanged();
  ExpectTheHonestOneIsStillHeard();
}

TEST_F(ForgedTest, EpochsAttemptsAndCasesThatNeverWereAreStale) {
  void (*const forgeries[])(AttemptId&) = {
      [](AttemptId& id) { id.set_epoch(id.epoch() + 1); },
      [](AttemptId& id) { id.set_epoch(0); },
      [](AttemptId& id) { id.set_epoch(-1); },
      [](AttemptId& id) { id.set_epoch(std::numeric_limits<std::int64_t>::max()); },
      [](AttemptId& id) { id.set_attempt(2); },
      [](AttemptId& id) { id.set_attempt(-7); },
      [](AttemptId& id) { id.set_case_index(1); },
      [](AttemptId& id) { id.set_case_index(-1); },
      [](AttemptId& id) { id.set_case_index(2'000'000'000); },
      [](AttemptId& id) { id.set_job("jobs/none"); },
      [](AttemptId& id) { id.clear_job(); },
  };
  for (const auto forge : forgeries) {
    AttemptResult result = FakeWorker::GoodResult(assign_);
    forge(*result.mutable_id());
    honest_.SendResult(result);
    const auto ack = honest_.Ack();
    ASSERT_TRUE(ack.has_value()) << result.id().ShortDebugString();
    EXPECT_TRUE(ack->stale()) << result.id().ShortDebugString();
    ExpectNothingChanged();
  }
  // After the lies: a lease that was never confirmed by a heartbeat is not lost for them.
  ExpectTheHonestOneIsStillHeard();
}

TEST_F(ForgedTest, AHeartbeatThatHoldsAnothersAttemptIsToldToStop) {
  liar_.Beat({HeldOf(assign_.id(), false)});
  const auto cancel = liar_.CancelRequest();
  ASSERT_TRUE(cancel.has_value());
  EXPECT_EQ(cancel->id().epoch(), assign_.id().epoch());
  ExpectNothingChanged();
  ExpectTheHonestOneIsStillHeard();
}

TEST_F(ForgedTest, AHelloThatHoldsAnothersAttemptIsToldToKillIt) {
  FakeWorker third(server_, "w3", FakeDevice("cpu3", "cpu"), "boot1",
                   {HeldOf(assign_.id(), true), HeldOf(assign_.id(), false)});
  const auto welcome = third.Welcome();
  ASSERT_TRUE(welcome.has_value());
  ASSERT_EQ(welcome->held_size(), 2);
  EXPECT_EQ(welcome->held(0).action(), HeldVerdict::KILL);
  EXPECT_EQ(welcome->held(1).action(), HeldVerdict::KILL);
  ExpectNothingChanged();
  ExpectTheHonestOneIsStillHeard();
}

TEST_F(ForgedTest, ProgressOfAnothersAttemptReachesNobody) {
  grpc::ClientContext context;
  WatchJobRequest request;
  request.set_name(job_.name());
  const auto reader = server_.jobs().WatchJob(&context, request);
  JobEvent event;
  ASSERT_TRUE(reader->Read(&event));  // the snapshot
  liar_.Progress(assign_.id(), 666);
  AttemptId old = assign_.id();
  old.set_epoch(old.epoch() - 1);
  honest_.Progress(old, 667);
  liar_.SendResult(FakeWorker::GoodResult(assign_));  // both streams have been read when it is
  EXPECT_TRUE(liar_.Ack()->stale());                  // answered
  honest_.Progress(assign_.id(), 5);
  while (reader->Read(&event)) {
    if (!event.has_progress()) continue;
    EXPECT_EQ(event.progress().round(), 5);
    if (event.progress().round() == 5) break;
  }
  context.TryCancel();
  ExpectTheHonestOneIsStillHeard();
}

TEST_F(ForgedTest, ReplayedAndReorderedMessagesCountOnce) {
  // The result before the heartbeat that named it as running, and both again.
  honest_.SendResult(FakeWorker::GoodResult(assign_));
  EXPECT_FALSE(honest_.Ack()->stale());
  honest_.Beat({HeldOf(assign_.id(), false)});
  EXPECT_TRUE(honest_.CancelRequest().has_value()) << "that attempt has ended";
  honest_.Beat({HeldOf(assign_.id(), true)});
  for (int i = 0; i < 3; ++i) {
    honest_.SendResult(FakeWorker::GoodResult(assign_));
    EXPECT_TRUE(honest_.Ack()->stale());
  }
  honest_.Beat();
  const Job job = server_.WaitFor(job_.name(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.cases(0).results_size(), 2);
  EXPECT_EQ(job.last_sequence(), 3) << "started, ended, final";
  server_.MustSubmit(MatmulJob(1, "cpu"));
  honest_.RunOne();
}

TEST_F(ForgedTest, ALargeResultIsTaken) {
  AttemptResult result = FakeWorker::GoodResult(assign_);
  result.mutable_artifacts(0)->set_content(std::string(6u << 20, 'x'));
  honest_.SendResult(result);
  EXPECT_FALSE(honest_.Ack()->stale()) << "the workers' stream has a bound of its own";
  server_.WaitFor(job_.name(), JOB_STATE_SUCCEEDED);
}

TEST(Forged, AMessageBeforeTheHelloEndsTheStream) {
  TestServer server;
  const Job job = server.MustSubmit(MatmulJob());
  const auto stub = WorkerService::NewStub(server.channel());
  for (const int what : {0, 1, 2}) {
    grpc::ClientContext context;
    const auto stream = stub->Connect(&context);
    WorkerMessage message;
    if (what == 0) message.mutable_heartbeat();
    if (what == 1) message.mutable_result()->mutable_id()->set_job(job.name());
    stream->Write(message);
    CoordinatorMessage answer;
    EXPECT_FALSE(stream->Read(&answer));
    const absl::Status end = FromGrpc(stream->Finish());
    EXPECT_EQ(end.code(), kInvalid) << what;
    EXPECT_EQ(DetailsOf(end).reason, "BAD_HELLO");
  }
}

TEST(Forged, HellosBeyondAllBoundsAreRefused) {
  TestServer server;
  Device labelled = FakeDevice("cpu", "cpu");
  for (int i = 0; i < 5000; ++i) (*labelled.mutable_labels())[std::to_string(i)] = "x";
  FakeWorker many_labels(server, "w1", labelled);
  EXPECT_EQ(DetailsOf(many_labels.End()).reason, "TOO_MANY_LABELS");
  FakeWorker long_id(server, std::string(300, 'w'), FakeDevice("cpu", "cpu"));
  EXPECT_EQ(DetailsOf(long_id.End()).reason, "BAD_HELLO");
}

TEST(Forged, ManyAttemptsHeldAreJudgedOneByOne) {
  TestServer server;
  std::vector<HeldAttempt> held(500);
  for (int i = 0; i < 500; ++i) {
    held[static_cast<std::size_t>(i)].mutable_id()->set_job("jobs/none");
    held[static_cast<std::size_t>(i)].mutable_id()->set_epoch(i);
  }
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), "boot1", held);
  const auto welcome = worker.Welcome();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->held_size(), 500);
  for (const HeldVerdict& verdict : welcome->held()) EXPECT_EQ(verdict.action(), HeldVerdict::KILL);
}

// The code with which each method answers this request.
template <typename Response, typename Method, typename Request>
absl::Status Call(Method method, const Request& request) {
  grpc::ClientContext context;
  Response response;
  return FromGrpc(method(&context, request, &response));
}

TEST(Forged, ARequestOfFiveMebibytesIsRefusedByEveryMethod) {
  TestServer server;
  const std::string large(5u << 20, 'x');
  int refused = 0;
  for (const auth::Method& method : auth::Methods()) {
    const std::string path = method.path;
    if (path == "/kbench.v1.WorkerService/Connect") continue;  // ALargeResultIsTaken
    const absl::Status answer = CallMethod(server.channel(), path, large);
    EXPECT_EQ(answer.code(), kInvalid) << path;
    EXPECT_EQ(DetailsOf(answer).reason, "REQUEST_TOO_LARGE") << path;
    EXPECT_THAT(MessageOf(answer), ::testing::HasSubstr("5242880 bytes, at most 4194304")) << path;
    ++refused;
  }
  EXPECT_GE(refused, 25);
  const std::string most(4u << 20, 'x');
  EXPECT_EQ(CallMethod(server.channel(), "/kbench.v1.JobService/GetJob", most).code(),
            absl::StatusCode::kNotFound)
      << "as large as may be";
}

TEST(Forged, LabelsInTheThousandsAreRefused) {
  TestServer server;
  SubmitJobRequest request = MatmulJob();
  for (int i = 0; i < 5000; ++i) (*request.mutable_spec()->mutable_labels())[std::to_string(i)];
  const auto job = server.Submit(request);
  EXPECT_EQ(job.status().code(), kInvalid);
  EXPECT_EQ(DetailsOf(job.status()).reason, "TOO_MANY_LABELS");
}

TEST(Forged, TextThatIsNotUtf8NeverArrives) {
  TestServer server;
  const std::string bad = "ada\xff\xfe";
  SubmitJobRequest submit = MatmulJob();
  submit.set_owner(bad);
  EXPECT_EQ(server.Submit(submit).status().code(), absl::StatusCode::kInternal)
      << "gRPC's answer to a message that cannot be read";
  EXPECT_EQ(server.Get(bad).status().code(), absl::StatusCode::kInternal);
  grpc::ClientContext context;
  ListJobsResponse listed;
  ASSERT_TRUE(server.jobs().ListJobs(&context, {}, &listed).ok());
  EXPECT_EQ(listed.jobs_size(), 0);
  // A worker's stream ends, and its device is gone with it.
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  Heartbeat heartbeat;
  heartbeat.set_device_message(bad);
  worker.Beat(heartbeat);
  EXPECT_FALSE(worker.Assign(5).has_value());
  const absl::Status end = worker.End();
  EXPECT_EQ(end.code(), kInvalid) << end;
  EXPECT_EQ(DetailsOf(end).reason, "BAD_MESSAGE");
}

TEST(Forged, APageTokenOfAnotherQueryIsRefused) {
  TestServer server;
  for (int i = 0; i < 3; ++i) server.MustSubmit(MatmulJob());
  using C = grpc::ClientContext;
  const auto list = [&](const ListJobsRequest& request, ListJobsResponse* page) {
    C context;
    return FromGrpc(server.jobs().ListJobs(&context, request, page));
  };
  ListJobsRequest request;
  request.set_page_size(1);
  ListJobsResponse page;
  ASSERT_TRUE(list(request, &page).ok());
  const std::string token = page.next_page_token();
  ASSERT_FALSE(token.empty());
  request.set_page_token(token);
  EXPECT_TRUE(list(request, &page).ok());
  request.set_page_size(2);
  EXPECT_TRUE(list(request, &page).ok()) << "the size of a page is no part of the query";
  ListJobsRequest other = request;
  other.set_owner("bob");
  EXPECT_EQ(DetailsOf(list(other, &page)).reason, "BAD_PAGE_TOKEN");
  other = request;
  other.set_state(JOB_STATE_FAILED);
  EXPECT_EQ(list(other, &page).code(), kInvalid);
  for (const char* forged : {"x", "-1.5", "99999999999999999999.1", "1.1", "1"}) {
    request.set_page_token(forged);
    EXPECT_EQ(DetailsOf(list(request, &page)).reason, "BAD_PAGE_TOKEN") << forged;
  }
  ListResultsRequest results;
  results.set_page_token(token);
  const absl::Status status = Call<ListResultsResponse>(
      [&](C* c, auto& r, auto* out) { return server.results().ListResults(c, r, out); }, results);
  EXPECT_EQ(DetailsOf(status).violations.at(0).field, "page_token");
}

}  // namespace
}  // namespace kbench::server
