// One run for several jobs, over gRPC: single-flight, earlier results, what is never reused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states

SubmitJobRequest Sharing(int cases = 1, const std::string& device = "") {
  SubmitJobRequest request = MatmulJob(cases, device);
  request.mutable_spec()->set_share_in_flight(true);
  return request;
}

SubmitJobRequest AtMostOld(double seconds, int cases = 1) {
  SubmitJobRequest request = MatmulJob(cases);
  *request.mutable_spec()->mutable_max_result_age() = ToDuration(seconds);
  return request;
}

// As a worker of this version on FakeDevice would measure it.
AttemptResult Measured(const Assign& assign, const Device& device, const std::string& version) {
  AttemptResult result = FakeWorker::GoodResult(assign);
  for (Result& row : *result.mutable_results()) {
    row.mutable_environment()->set_device_name(device.model());
    row.mutable_environment()->set_device_uuid(device.uuid());
    row.mutable_environment()->set_driver(device.driver());
    row.mutable_environment()->set_kbench_version(version);
  }
  return result;
}

std::vector<std::string> RowsOf(const CaseStatus& status) {
  std::vector<std::string> rows;
  for (const Result& result : status.results()) rows.push_back(result.name());
  return rows;
}

TEST(SingleFlight, TheSameCaseOfAnotherJobEndsWithTheRunsResults) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job leader = server.MustSubmit(MatmulJob());
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  const Job sharer = server.MustSubmit(Sharing(2));
  const Job own = server.MustSubmit(MatmulJob());
  EXPECT_EQ(sharer.queue_position(), 1) << "it keeps its place in the line";
  worker.SendResult(FakeWorker::GoodResult(*assign));
  ASSERT_TRUE(worker.Ack().has_value());
  std::set<std::pair<std::string, int>> ran;
  for (int i = 0; i < 2; ++i) {
    const auto next = worker.Assign();
    ASSERT_TRUE(next.has_value());
    ran.insert({next->id().job(), next->id().case_index()});
    worker.SendResult(FakeWorker::GoodResult(*next));
    ASSERT_TRUE(worker.Ack().has_value());
  }
  EXPECT_THAT(
      ran, ::testing::UnorderedElementsAre(std::pair(sharer.name(), 1), std::pair(own.name(), 0)))
      << "the sharer's other case is nobody else's";
  const Job done = server.WaitFor(sharer.name(), JOB_STATE_SUCCEEDED);
  const Job first = server.WaitFor(leader.name(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(done.cases(0).results_of(), leader.name());
  EXPECT_EQ(done.cases(0).device(), "cpu");
  EXPECT_EQ(RowsOf(done.cases(0)), RowsOf(first.cases(0)));
  EXPECT_EQ(done.cases(0).results_size(), 2);
  EXPECT_EQ(done.cases(0).attempt(), 0);
  EXPECT_EQ(done.cases(1).results_of(), "");
  EXPECT_NE(RowsOf(server.WaitFor(own.name(), JOB_STATE_SUCCEEDED).cases(0)),
            RowsOf(first.cases(0)))
      << "who did not ask for it measures";
  server.Restart();
  const Job again = *server.Get(sharer.name());
  EXPECT_EQ(again.cases(0).results_of(), leader.name());
  EXPECT_EQ(RowsOf(again.cases(0)), RowsOf(first.cases(0)));
}

TEST(SingleFlight, WatchersOfTheSharerHearItsResultsOnce) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job leader = server.MustSubmit(MatmulJob());
  const auto assign = worker.Assign();
  const Job sharer = server.MustSubmit(Sharing());
  grpc::ClientContext context;
  WatchJobRequest request;
  request.set_name(sharer.name());
  const auto reader = server.jobs().WatchJob(&context, request);
  JobEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.has_snapshot());
  worker.SendResult(FakeWorker::GoodResult(*assign));
  std::vector<std::int64_t> sequences;
  int changes = 0;
  bool final = false;
  while (reader->Read(&event)) {
    if (event.sequence() > 0) sequences.push_back(event.sequence());
    if (event.has_case_changed()) {
      ++changes;
      EXPECT_EQ(event.case_changed().results_of(), leader.name());
      EXPECT_EQ(event.case_changed().results_size(), 2);
    }
    if (event.has_final()) {
      final = true;
      EXPECT_EQ(event.final().cases(0).results_size(), 2);
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(final);
  EXPECT_EQ(changes, 1);
  EXPECT_THAT(sequences, ::testing::ElementsAre(1, 2));
}

TEST(SingleFlight, AfterARestartTheSharerStillShares) {
  TestServer server;
  Assign assign;
  Job sharer;
  {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
    server.MustSubmit(MatmulJob());
    assign = *worker.Assign();
    sharer = server.MustSubmit(Sharing());
    server.Restart();
  }
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), "boot1", {HeldOf(assign.id(), true)});
  ASSERT_TRUE(worker.Welcome().has_value());
  worker.SendResult(FakeWorker::GoodResult(assign));
  EXPECT_EQ(server.WaitFor(sharer.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(),
            assign.id().job());
}

TEST(SingleFlight, WhenTheFirstIsCancelledTheSharerRunsItself) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job leader = server.MustSubmit(MatmulJob());
  const auto assign = worker.Assign();
  const Job sharer = server.MustSubmit(Sharing());
  ASSERT_TRUE(server.Cancel(leader.name()).ok());
  AttemptResult cancelled;
  *cancelled.mutable_id() = assign->id();
  cancelled.set_cancelled(true);
  worker.SendResult(cancelled);
  const auto own = worker.Assign();
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->id().job(), sharer.name());
  worker.SendResult(FakeWorker::GoodResult(*own));
  EXPECT_EQ(server.WaitFor(sharer.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(), "");
}

TEST(SingleFlight, OnlyWhatIsTheSameIsShared) {
  const struct {
    const char* what;
    void (*change)(SubmitJobRequest&);
  } others[] = {
      {"implementations", [](auto& r) { r.mutable_spec()->add_implementations("cpu/naive"); }},
      {"seed", [](auto& r) { r.mutable_spec()->mutable_policy()->set_seed(9); }},
      {"precision", [](auto& r) { r.mutable_spec()->mutable_policy()->set_target_ratio(0.02); }},
      {"size", [](auto& r) { r.mutable_spec()->mutable_cases(0)->set_size("65"); }},
      {"mode", [](auto& r) { r.mutable_spec()->mutable_cases(0)->set_mode("hot"); }},
      {"device", [](auto& r) { r.mutable_spec()->set_device("cpu2"); }},
  };
  for (const auto& other : others) {
    SCOPED_TRACE(other.what);
    TestServer server;
    FakeWorker worker(server, "w1", FakeDevice("cpu1", "cpu"));
    FakeWorker second(server, "w2", FakeDevice("cpu2", "cpu"));
    ASSERT_TRUE(worker.Welcome() && second.Welcome());
    server.MustSubmit(MatmulJob(1, "cpu1"));
    const auto assign = worker.Assign();
    ASSERT_TRUE(assign.has_value());
    SubmitJobRequest request = Sharing(1, "cpu1");
    other.change(request);
    const Job job = server.MustSubmit(request);
    worker.SendResult(FakeWorker::GoodResult(*assign));
    (request.spec().device() == "cpu2" ? second : worker).RunOne();
    EXPECT_EQ(server.WaitFor(job.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(), "");
  }
}

class CacheTest : public ::testing::Test {
 protected:
  // Measures one job; its name.
  std::string Measure(FakeWorker& worker, int cases = 1) {
    const Job job = server_.MustSubmit(MatmulJob(cases));
    for (int i = 0; i < cases; ++i) {
      const auto assign = worker.Assign();
      worker.SendResult(Measured(*assign, FakeDevice("cpu", "cpu"), ""));
      EXPECT_TRUE(worker.Ack().has_value());
    }
    server_.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
    return job.name();
  }

  TestServer server_;
};

TEST_F(CacheTest, AnEarlierValidResultIsTakenAndNamed) {
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  const std::string old = Measure(worker);
  const Job job = server_.MustSubmit(AtMostOld(3600));
  const Job done = server_.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(done.cases(0).results_of(), old);
  EXPECT_EQ(done.cases(0).results_size(), 2);
  EXPECT_EQ(done.cases(0).attempt(), 0);
  const Job third = server_.MustSubmit(AtMostOld(3600));
  EXPECT_EQ(server_.WaitFor(third.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(), old)
      << "named is who measured, not who took it before";
  server_.Restart();
  EXPECT_EQ(server_.Get(job.name())->cases(0).results_size(), 2);
}

TEST_F(CacheTest, OnlyTheCasesThatAreThereAreTaken) {
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  const std::string old = Measure(worker, 2);
  const Job job = server_.MustSubmit(AtMostOld(3600, 3));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  EXPECT_EQ(assign->id().case_index(), 2);
  worker.SendResult(FakeWorker::GoodResult(*assign));
  const Job done = server_.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(done.cases(0).results_of(), old);
  EXPECT_EQ(done.cases(1).results_of(), old);
  EXPECT_EQ(done.cases(2).results_of(), "");
}

TEST_F(CacheTest, WhatIsTooOldNotAskedForOrNotTheSameIsMeasured) {
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  Measure(worker);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  SubmitJobRequest precise = AtMostOld(3600);
  precise.mutable_spec()->mutable_policy()->set_target_ratio(0.002);
  SubmitJobRequest fresh = AtMostOld(0);
  for (const SubmitJobRequest& request : {AtMostOld(0.01), MatmulJob(), precise, fresh}) {
    const Job job = server_.MustSubmit(request);
    worker.RunOne();
    EXPECT_EQ(server_.WaitFor(job.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(), "");
  }
}

TEST_F(CacheTest, AnotherDriverOrKbenchOrASuspectRowMeansMeasuring) {
  {
    FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
    Measure(worker);
  }
  Device renewed = FakeDevice("cpu", "cpu");
  renewed.set_driver("2");
  FakeWorker worker(server_, "w1", renewed, "boot2");
  ASSERT_TRUE(worker.Welcome().has_value());  // before, the device may still be the old one
  const Job job = server_.MustSubmit(AtMostOld(3600));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  AttemptResult suspect = Measured(*assign, renewed, "");
  suspect.mutable_results(0)->set_verdict(VERDICT_SUSPECT);
  worker.SendResult(suspect);
  EXPECT_EQ(server_.WaitFor(job.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(), "");
  const Job next = server_.MustSubmit(AtMostOld(3600));
  worker.RunOne();
  EXPECT_EQ(server_.WaitFor(next.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(), "");
}

TEST_F(CacheTest, AResultThatComesWhileItWaitsIsTakenToo) {
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  const Job leader = server_.MustSubmit(MatmulJob());
  const auto assign = worker.Assign();
  const Job job = server_.MustSubmit(AtMostOld(3600));
  worker.SendResult(Measured(*assign, FakeDevice("cpu", "cpu"), ""));
  EXPECT_EQ(server_.WaitFor(job.name(), JOB_STATE_SUCCEEDED).cases(0).results_of(), leader.name());
}

TEST(PoisonOverJobs, TwoOwnersWithTheSameKillTwoWorkersAndNoThird) {
  TestServer server;
  const Job first = server.MustSubmit(MatmulJob(2));
  SubmitJobRequest others = MatmulJob();  // the first one's case 1 of 2
  others.set_owner("bo");
  const Job second = server.MustSubmit(others);
  for (const char* boot : {"boot1", "boot2"}) {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), boot);
    const auto assign = worker.Assign();
    ASSERT_TRUE(assign.has_value());
    EXPECT_EQ(assign->id().case_index(), 0) << "whoever's of the two it is";
    // A death also counts when the coordinator has been away in between.
    worker.Disconnect();
    server.Restart();
  }
  FakeWorker third(server, "w1", FakeDevice("cpu", "cpu"), "boot3");
  third.RunOne();
  const Job failed = server.WaitFor(first.name(), JOB_STATE_FAILED);
  EXPECT_EQ(failed.cases(0).reason(), "POISON");
  EXPECT_EQ(failed.cases(1).state(), JOB_STATE_SUCCEEDED);
  EXPECT_THAT(failed.message(), ::testing::HasSubstr("case 1 of 2"));
  EXPECT_EQ(server.WaitFor(second.name(), JOB_STATE_FAILED).reason(), "POISON");
}

TEST(PoisonOverJobs, TheSameCaseIsRefusedAlsoAfterARestartUnlessFresh) {
  TestServer server;
  const Job job = server.MustSubmit(MatmulJob());
  for (const char* boot : {"boot1", "boot2"}) {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), boot);
    ASSERT_TRUE(worker.Assign().has_value());
  }
  FakeWorker third(server, "w1", FakeDevice("cpu", "cpu"), "boot3");
  server.WaitFor(job.name(), JOB_STATE_FAILED);
  for (int i = 0; i < 2; ++i) {
    const auto refused = server.Submit(MatmulJob());
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(DetailsOf(refused.status()).reason, "POISON");
    EXPECT_EQ(DetailsOf(refused.status()).metadata.at("job"), job.name());
    server.Restart();
  }
  EXPECT_TRUE(server.Submit(AtMostOld(0)).ok());
}

}  // namespace
}  // namespace kbench::server
