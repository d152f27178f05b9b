// Jobs over gRPC: submit, run, get, list, cancel, artifacts, request ids, restarts, late results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using kbench::v1::Job;
using namespace kbench::v1;  // NOLINT: the states and outcomes

// Only matmul, as a GPU might offer it.
kbench::v1::Device WithOnly(kbench::v1::Device device, const std::string& kernel) {
  const auto all = device.implementations();
  device.clear_implementations();
  for (const auto& implementation : all) {
    if (implementation.kernel() == kernel) *device.add_implementations() = implementation;
  }
  return device;
}

SubmitJobRequest SumJob(const std::string& device) {
  SubmitJobRequest request = MatmulJob(1, device);
  request.mutable_spec()->mutable_cases(0)->set_kernel("sum");
  return request;
}

TEST(Jobs, RunOnADeviceThatHasTheKernel) {
  TestServer server;
  FakeWorker gpu0(server, "w0", WithOnly(FakeDevice("gpu0", "cuda"), "matmul"));
  FakeWorker gpu1(server, "w1", FakeDevice("gpu1", "cuda"));
  ASSERT_TRUE(gpu0.Welcome() && gpu1.Welcome());
  const Job job = server.MustSubmit(SumJob("gpu"));
  gpu1.RunOne();
  EXPECT_EQ(server.WaitFor(job.name(), kbench::v1::JOB_STATE_SUCCEEDED).cases(0).device(), "gpu1");
}

TEST(Jobs, WithoutADeviceTheCpuRunsWhatNoGpuHas) {
  TestServer server;
  FakeWorker cpu(server, "w-cpu", FakeDevice("cpu", "cpu"));
  FakeWorker gpu0(server, "w0", WithOnly(FakeDevice("gpu0", "cuda"), "matmul"));
  ASSERT_TRUE(cpu.Welcome() && gpu0.Welcome());
  const auto refused = server.Submit(SumJob("gpu"));
  EXPECT_EQ(MessageOf(refused.status()), "device gpu0 has no implementation of sum");
  gpu0.Disconnect();
  const Job job = server.MustSubmit(SumJob(""));
  cpu.RunOne();
  server.WaitFor(job.name(), kbench::v1::JOB_STATE_SUCCEEDED);
}

TEST(Jobs, TheLowerRungsTravelWithTheAssignment) {
  TestServer server;
  kbench::v1::Device device = FakeDevice("gpu0", "cuda");
  device.clear_implementations();
  for (const char* name : {"cuda/naive", "cuda/good", "cuda/best"}) {
    auto* line = device.add_implementations();
    line->set_name(name);
    line->set_family("cuda");
    line->set_kernel("matmul");
    line->add_dtypes("fp32");
    line->set_default_choice(true);
    line->set_rung(device.implementations_size());
  }
  FakeWorker worker(server, "w0", device);
  ASSERT_TRUE(worker.Welcome().has_value());
  server.MustSubmit(MatmulJob(1));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  EXPECT_THAT(assign->implementations(), ::testing::ElementsAre("cuda/best"));
  ASSERT_EQ(assign->fallbacks_size(), 1);
  EXPECT_EQ(assign->fallbacks(0).implementation(), "cuda/best");
  EXPECT_THAT(assign->fallbacks(0).lower(), ::testing::ElementsAre("cuda/good", "cuda/naive"));
}

TEST(Jobs, AJobRunsAndItsResultsComeBack) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  const Job submitted = server.MustSubmit(MatmulJob(2));
  EXPECT_THAT(submitted.name(), ::testing::StartsWith("jobs/"));
  EXPECT_EQ(submitted.spec().cases(0).shape(), "m=64,n=64,k=64,layout=nn");
  EXPECT_EQ(submitted.spec().cases(0).mode(), "cold");
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  EXPECT_THAT(assign->implementations(), ::testing::ElementsAre("cpu/onednn", "cpu/openblas"))
      << "the default choices";
  EXPECT_EQ(assign->baseline(), "cpu/onednn");
  EXPECT_TRUE(assign->requested().empty());
  EXPECT_TRUE(assign->more_of_job());
  EXPECT_EQ(assign->case_().shape(), "m=64,n=64,k=64,layout=nn");
  worker.SendResult(FakeWorker::GoodResult(*assign));
  EXPECT_FALSE(worker.Ack()->stale());
  worker.RunOne();
  const Job job = server.WaitFor(submitted.name(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.cases_done(), 2);
  ASSERT_EQ(job.cases(0).results_size(), 2);
  const Result& result = job.cases(0).results(1);
  const std::string id = submitted.name().substr(5);
  EXPECT_EQ(result.name(), "results/" + id + "-0-1");
  EXPECT_EQ(result.job(), submitted.name());
  EXPECT_EQ(result.implementation(), "cpu/openblas");
  EXPECT_EQ(result.case_().kernel(), "matmul");
  EXPECT_EQ(result.device(), "cpu");
  EXPECT_TRUE(result.has_create_time());
  EXPECT_EQ(result.artifacts(0), "artifacts/" + id + "-0-samples.json");
}

TEST(Jobs, ArtifactsComeInChunks) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job job = server.MustSubmit(MatmulJob());
  worker.RunOne();
  grpc::ClientContext list_context;
  ListArtifactsRequest list;
  list.set_job(job.name());
  ListArtifactsResponse listed;
  ASSERT_TRUE(server.results().ListArtifacts(&list_context, list, &listed).ok());
  ASSERT_EQ(listed.artifacts_size(), 1);
  grpc::ClientContext context;
  GetArtifactRequest request;
  request.set_name(listed.artifacts(0).name());
  const auto reader = server.results().GetArtifact(&context, request);
  ArtifactChunk chunk;
  std::string content;
  int chunks = 0;
  while (reader->Read(&chunk)) {
    EXPECT_LE(chunk.content().size(), 65536u);
    EXPECT_EQ(chunk.offset(), static_cast<std::int64_t>(content.size()));
    EXPECT_EQ(chunk.size_bytes(), 200'000);
    content += chunk.content();
    ++chunks;
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(content, std::string(200'000, 'x'));
  EXPECT_EQ(chunks, 4);
}

TEST(Jobs, ARequestIdMakesOneJob) {
  TestServer server;
  SubmitJobRequest request = MatmulJob();
  request.set_request_id("11111111-1111-4111-8111-111111111111");
  (*request.mutable_spec()->mutable_labels())["a"] = "1";
  (*request.mutable_spec()->mutable_labels())["b"] = "2";
  const Job first = server.MustSubmit(request);
  EXPECT_EQ(server.MustSubmit(request).name(), first.name());
  server.Restart();
  EXPECT_EQ(server.MustSubmit(request).name(), first.name()) << "also after a restart";
  request.mutable_spec()->mutable_cases(0)->set_size("128");
  const auto reused = server.Submit(request);
  EXPECT_EQ(reused.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(DetailsOf(reused.status()).reason, "REQUEST_ID_REUSED");
  EXPECT_EQ(DetailsOf(reused.status()).metadata.at("job"), first.name());
}

TEST(Jobs, TheSameRequestFromManyThreadsMakesOneJob) {
  TestServer server;
  SubmitJobRequest request = MatmulJob();
  request.set_request_id("same");
  std::vector<std::string> names(8);
  std::vector<std::thread> threads;
  for (std::string& name : names) {
    threads.emplace_back([&] { name = server.MustSubmit(request).name(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 1u);
}

TEST(Jobs, ValidateOnlyQueuesNothing) {
  TestServer server;
  SubmitJobRequest request = MatmulJob();
  request.set_validate_only(true);
  const Job job = server.MustSubmit(request);
  EXPECT_TRUE(job.name().empty());
  EXPECT_EQ(job.spec().cases(0).shape(), "m=64,n=64,k=64,layout=nn");
  grpc::ClientContext context;
  ListJobsResponse listed;
  ASSERT_TRUE(server.jobs().ListJobs(&context, {}, &listed).ok());
  EXPECT_EQ(listed.jobs_size(), 0);
}

TEST(Jobs, AJobBeforeAnyWorkerWaitsAndSaysWhy) {
  TestServer server;
  const Job job = server.MustSubmit(MatmulJob());
  EXPECT_EQ(job.state(), JOB_STATE_QUEUED);
  EXPECT_EQ(job.reason(), "NO_DEVICE");
  EXPECT_THAT(job.message(), ::testing::HasSubstr("kbench-client up"));
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  worker.RunOne();
  server.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
  worker.Disconnect();
  while (server.MustSubmit(MatmulJob(1, "cpu")).reason() != "DEVICE_OFFLINE") {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST(Jobs, ListPagesNewestFirst) {
  TestServer server;
  for (int i = 0; i < 5; ++i) server.MustSubmit(MatmulJob());
  ListJobsRequest request;
  request.set_page_size(2);
  int jobs = 0;
  do {
    grpc::ClientContext context;
    ListJobsResponse page;
    ASSERT_TRUE(server.jobs().ListJobs(&context, request, &page).ok());
    jobs += page.jobs_size();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(jobs, 5);
  request.set_page_size(-1);
  grpc::ClientContext context;
  ListJobsResponse page;
  const grpc::Status status = server.jobs().ListJobs(&context, request, &page);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(FromGrpc(status)).violations.at(0).field, "page_size");
}

TEST(Jobs, CancelStopsWhatRunsAndIsIdempotent) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job job = server.MustSubmit(MatmulJob(3));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  const auto cancelled = server.Cancel(job.name());
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->state(), JOB_STATE_RUNNING) << "its case still runs";
  EXPECT_EQ(cancelled->cases(2).state(), JOB_STATE_CANCELLED);
  const auto request = worker.CancelRequest();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->id().epoch(), assign->id().epoch());
  AttemptResult result;
  *result.mutable_id() = assign->id();
  result.set_cancelled(true);
  worker.SendResult(result);
  EXPECT_FALSE(worker.Ack()->stale());
  server.WaitFor(job.name(), JOB_STATE_CANCELLED);
  EXPECT_EQ(server.Cancel(job.name())->state(), JOB_STATE_CANCELLED);
  EXPECT_EQ(server.Cancel("jobs/none").status().code(), absl::StatusCode::kNotFound);
}

TEST(Jobs, NamedImplementationsRunAndTheOthersDoNot) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  SubmitJobRequest request = MatmulJob();
  request.mutable_spec()->mutable_cases(0)->set_dtype("fp64");
  request.mutable_spec()->add_implementations("cpu/naive");
  request.mutable_spec()->add_implementations("cpu/onednn");
  server.MustSubmit(request);
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  EXPECT_THAT(assign->implementations(), ::testing::ElementsAre("cpu/onednn", "cpu/naive"))
      << "one that lacks the dtype stays: it becomes an UNSUPPORTED row";
  EXPECT_THAT(assign->requested(), ::testing::ElementsAre("cpu/onednn", "cpu/naive"));
  worker.SendResult(FakeWorker::GoodResult(*assign));
  request.mutable_spec()->clear_implementations();
  request.mutable_spec()->add_implementations("all");
  server.MustSubmit(request);
  EXPECT_THAT(worker.Assign()->implementations(),
              ::testing::ElementsAre("cpu/openblas", "cpu/naive"));
}

TEST(Jobs, ALateOrDuplicateResultIsStale) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job job = server.MustSubmit(MatmulJob());
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  worker.SendResult(FakeWorker::GoodResult(*assign));
  EXPECT_FALSE(worker.Ack()->stale());
  worker.SendResult(FakeWorker::GoodResult(*assign));
  EXPECT_TRUE(worker.Ack()->stale());
  AttemptResult unknown = FakeWorker::GoodResult(*assign);
  unknown.mutable_id()->set_job("jobs/none");
  worker.SendResult(unknown);
  EXPECT_TRUE(worker.Ack()->stale());
  EXPECT_EQ(server.Get(job.name())->cases(0).results_size(), 2);
}

TEST(Jobs, InfraFailuresAreTriedAgainAndThenEndTheJob) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job job = server.MustSubmit(MatmulJob());
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto assign = worker.Assign();
    ASSERT_TRUE(assign.has_value());
    EXPECT_EQ(assign->id().attempt(), attempt);
    AttemptResult result;
    *result.mutable_id() = assign->id();
    result.set_infra_error("the runner could not be started");
    result.add_artifacts()->set_name("stderr.txt");
    worker.SendResult(result);
    ASSERT_TRUE(worker.Ack().has_value());
    worker.Beat();
  }
  const Job failed = server.WaitFor(job.name(), JOB_STATE_FAILED);
  EXPECT_EQ(failed.reason(), "INFRA");
  EXPECT_THAT(failed.message(), ::testing::HasSubstr("the runner could not be started"));
  grpc::ClientContext context;
  ListArtifactsRequest request;
  request.set_job(job.name());
  ListArtifactsResponse listed;
  ASSERT_TRUE(server.results().ListArtifacts(&context, request, &listed).ok());
  EXPECT_EQ(listed.artifacts_size(), 3) << "the logs of every attempt are kept";
}

TEST(Jobs, AQueueTimeoutExpiresAJob) {
  TestServer server;
  SubmitJobRequest request = MatmulJob();
  request.mutable_spec()->mutable_queue_timeout()->set_nanos(100'000'000);
  EXPECT_EQ(server.WaitFor(server.MustSubmit(request).name(), JOB_STATE_EXPIRED).reason(),
            "QUEUE_TIMEOUT");
}

TEST(Jobs, ARestartLosesNothingAndAcceptsASpooledResultOnce) {
  TestServer server;
  kbench::v1::Assign assign;
  Job job;
  {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
    job = server.MustSubmit(MatmulJob(2));
    assign = *worker.Assign();
    server.Restart();
    EXPECT_EQ(worker.End().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(server.Get(job.name())->state(), JOB_STATE_RUNNING);
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), "boot1", {HeldOf(assign.id(), true)});
  const auto welcome = worker.Welcome();
  ASSERT_TRUE(welcome.has_value());
  ASSERT_EQ(welcome->held_size(), 1);
  EXPECT_EQ(welcome->held(0).action(), HeldVerdict::RESEND);
  worker.SendResult(FakeWorker::GoodResult(assign));
  EXPECT_FALSE(worker.Ack()->stale());
  worker.SendResult(FakeWorker::GoodResult(assign));
  EXPECT_TRUE(worker.Ack()->stale());
  worker.RunOne();
  server.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
  server.Restart();
  EXPECT_EQ(server.Get(job.name())->cases(1).results_size(), 2);
}

// Takes assignments and answers them until none comes any more.
int RunUntilIdle(TestServer& server, const std::string& device) {
  FakeWorker worker(server, "w-" + device, FakeDevice(device, "cpu"));
  int cases = 0;
  for (auto assign = worker.Assign(); assign.has_value(); assign = worker.Assign(1)) {
    AttemptResult result;
    *result.mutable_id() = assign->id();
    result.add_results()->set_outcome(OUTCOME_OK);
    worker.SendResult(result);
    EXPECT_FALSE(worker.Ack()->stale());
    ++cases;
  }
  return cases;
}

TEST(Jobs, TenThousandCasesAllEndOnce) {
  TestServer server;
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) names.push_back(server.MustSubmit(MatmulJob(1000)).name());
  EXPECT_EQ(server.Get(names.back())->queue_position(), 9000);
  std::atomic<int> cases = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 5; ++i) {
    workers.emplace_back([&, i] { cases += RunUntilIdle(server, "cpu" + std::to_string(i)); });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(cases, 10'000);
  for (const std::string& name : names) {
    const Job job = server.WaitFor(name, JOB_STATE_SUCCEEDED);
    EXPECT_EQ(job.cases_done(), 1000);
    for (const CaseStatus& item : job.cases()) ASSERT_EQ(item.results_size(), 1);
  }
}

}  // namespace
}  // namespace kbench::server
