#include "tests/server/store/conformance.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::store {

using kbench::v1::Job;
using kbench::v1::JobEvent;
using scheduler::State;

void StoreConformance::Reopen() {
  store_.reset();
  auto store = backend_->Open();
  ASSERT_TRUE(store.ok()) << store.status();
  store_ = std::move(*store);
}

namespace {

scheduler::CaseTransition Running(const std::string& job, int index, std::int64_t epoch) {
  scheduler::Case item;
  item.ref = {job, index};
  item.state = State::kRunning;
  item.attempts = 2;
  item.infra_failures = 1;
  item.worker_deaths = 1;
  item.open_epoch = epoch;
  item.device = "gpu0";
  item.worker = "w1";
  item.started_at = 1'700'000'001.25;
  item.lease = scheduler::Lease{"w1", "boot1", 2, epoch, 0, false};
  return {item};
}

scheduler::CaseTransition Ended(const std::string& job, int index, State state) {
  scheduler::CaseTransition transition = Running(job, index, 5);
  transition.state.state = state;
  transition.state.open_epoch = 0;
  transition.state.lease.reset();
  transition.state.ended_at = 1'700'000'002.5;
  return transition;
}

NewEvent CaseEvent(const std::string& job, int index, kbench::v1::JobState state) {
  NewEvent event;
  event.job = job;
  event.event.mutable_case_changed()->set_index(index);
  event.event.mutable_case_changed()->set_state(state);
  return event;
}

}  // namespace

TEST_P(StoreConformance, AJobIsThereAfterItsCommitAndAfterAReopening) {
  ASSERT_TRUE(CommitNow(*store_, JobBatch(MakeJob("jobs/a", 2, 1, "r1"))).first.ok());
  for (int round = 0; round < 2; ++round) {
    const auto job = store_->GetJob("jobs/a", true);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->owner(), "ada");
    EXPECT_EQ(ToMicros(job->create_time()), 1'700'000'000'123'456);
    EXPECT_EQ(job->state(), kbench::v1::JOB_STATE_QUEUED);
    ASSERT_EQ(job->cases_size(), 2);
    EXPECT_EQ(job->cases(1).spec().shape(), "m=2");
    EXPECT_EQ(job->cases(1).index(), 1);
    Reopen();
  }
}

TEST_P(StoreConformance, UnknownNamesAreNotFound) {
  EXPECT_EQ(store_->GetJob("jobs/none", true).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(store_->GetJob("jobs/none", true).status()),
              ::testing::HasSubstr("jobs/none"));
  EXPECT_EQ(store_->GetResult("results/x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetArtifact("artifacts/x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->ListArtifacts("jobs/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->ReadEvents("jobs/none", 0, 10).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreConformance, ARequestIdFindsItsJob) {
  ASSERT_TRUE(CommitNow(*store_, JobBatch(MakeJob("jobs/a", 1, 1, "r1"))).first.ok());
  const auto found = store_->FindRequest("r1");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->job, "jobs/a");
  EXPECT_EQ((*found)->digest, "digest");
  EXPECT_FALSE(store_->FindRequest("r2")->has_value());
  EXPECT_EQ(CommitNow(*store_, JobBatch(MakeJob("jobs/b", 1, 2, "r1"))).first.code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(CommitNow(*store_, JobBatch(MakeJob("jobs/c", 1, 3))).first.ok());
  EXPECT_TRUE(CommitNow(*store_, JobBatch(MakeJob("jobs/d", 1, 4))).first.ok())
      << "jobs without a request id do not collide";
}

TEST_P(StoreConformance, ABatchIsAllOrNothingAndHurtsNoNeighbour) {
  std::atomic<int> done = 0;
  std::vector<absl::Status> statuses(3);
  for (int i = 0; i < 3; ++i) {
    Batch batch = JobBatch(MakeJob("jobs/" + std::to_string(i), 1, i + 1));
    if (i == 1) batch.events.push_back(CaseEvent("jobs/none", 0, kbench::v1::JOB_STATE_RUNNING));
    store_->Commit(std::move(batch), [&, i](const absl::Status& status, const auto&) {
      statuses[static_cast<std::size_t>(i)] = status;
      ++done;
    });
  }
  while (done < 3) std::this_thread::yield();
  EXPECT_TRUE(statuses[0].ok());
  EXPECT_EQ(statuses[1].code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(statuses[2].ok());
  EXPECT_TRUE(store_->GetJob("jobs/0", false).ok());
  EXPECT_FALSE(store_->GetJob("jobs/1", false).ok());
  EXPECT_TRUE(store_->GetJob("jobs/2", false).ok());
}

TEST_P(StoreConformance, TransitionsComeBackOnRestore) {
  Batch batch = JobBatch(MakeJob("jobs/a", 2, 7));
  batch.cases.push_back(Running("jobs/a", 0, 41));
  batch.jobs.push_back({"jobs/a", State::kRunning, "R", "M", true, 1'700'000'001.25, 0});
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  Batch ended = JobBatch(MakeJob("jobs/b", 1, 8));
  ended.cases.push_back(Ended("jobs/b", 0, State::kFailed));
  ended.jobs.push_back({"jobs/b", State::kFailed, "POISON", "died", false, 1, 2});
  ASSERT_TRUE(CommitNow(*store_, std::move(ended)).first.ok());
  Reopen();
  const auto restored = store_->Restore();
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->next_epoch, 42);
  EXPECT_EQ(restored->next_order, 9);
  ASSERT_EQ(restored->jobs.size(), 1u) << "ended jobs stay away";
  const scheduler::JobEntry& job = restored->jobs[0];
  EXPECT_EQ(job.name, "jobs/a");
  EXPECT_EQ(job.priority, 700);
  EXPECT_EQ(job.order, 7);
  EXPECT_EQ(job.device, "gpu0");
  EXPECT_EQ(job.queue_deadline, 1'700'000'100.5);
  EXPECT_EQ(job.state, State::kRunning);
  EXPECT_TRUE(job.cancel_requested);
  EXPECT_EQ(job.started_at, 1'700'000'001.25);
  ASSERT_EQ(job.cases.size(), 2u);
  const scheduler::Case& item = job.cases[0];
  EXPECT_EQ(item.attempts, 2);
  EXPECT_EQ(item.infra_failures, 1);
  EXPECT_EQ(item.worker_deaths, 1);
  EXPECT_EQ(item.open_epoch, 41);
  ASSERT_TRUE(item.lease.has_value());
  EXPECT_EQ(item.lease->worker_id, "w1");
  EXPECT_EQ(item.lease->boot_id, "boot1");
  EXPECT_EQ(item.lease->epoch, 41);
  EXPECT_FALSE(job.cases[1].lease.has_value());
  EXPECT_EQ(store_->GetJob("jobs/b", false)->reason(), "POISON");
}

TEST_P(StoreConformance, EventsAreNumberedByJobAndComeBackWhole) {
  Batch batch = JobBatch(MakeJob("jobs/a", 2, 1));
  batch.events.push_back(CaseEvent("jobs/a", 0, kbench::v1::JOB_STATE_RUNNING));
  EXPECT_THAT(CommitNow(*store_, std::move(batch)).second, ::testing::ElementsAre(1));
  Batch other = JobBatch(MakeJob("jobs/b", 1, 2));
  other.events.push_back(CaseEvent("jobs/b", 0, kbench::v1::JOB_STATE_RUNNING));
  EXPECT_THAT(CommitNow(*store_, std::move(other)).second, ::testing::ElementsAre(1));
  Batch end;
  end.cases.push_back(Ended("jobs/a", 0, State::kSucceeded));
  end.results.push_back(MakeResult("jobs/a", 0, 0, "cublas", 1e-3));
  end.results.push_back(MakeResult("jobs/a", 0, 1, "cuda/naive", 2e-3));
  end.events.push_back(CaseEvent("jobs/a", 0, kbench::v1::JOB_STATE_SUCCEEDED));
  NewEvent last;
  last.job = "jobs/a";
  last.event.mutable_final();
  end.events.push_back(last);
  EXPECT_THAT(CommitNow(*store_, std::move(end)).second, ::testing::ElementsAre(2, 3));

  const auto events = store_->ReadEvents("jobs/a", 1, 100);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].sequence(), 2);
  ASSERT_EQ((*events)[0].case_changed().results_size(), 2);
  EXPECT_EQ((*events)[0].case_changed().results(1).implementation(), "cuda/naive");
  EXPECT_EQ((*events)[0].case_changed().spec().kernel(), "matmul");
  EXPECT_EQ((*events)[1].final().name(), "jobs/a");
  EXPECT_EQ((*events)[1].final().cases(0).results_size(), 2);
  EXPECT_EQ(store_->GetJob("jobs/a", false)->last_sequence(), 3);
  EXPECT_EQ(store_->GetJob("jobs/a", false)->cases_done(), 1);
  EXPECT_EQ(store_->GetJob("jobs/a", false)->cases(0).results_size(), 0);
  EXPECT_EQ(store_->ReadEvents("jobs/a", 0, 1)->size(), 1u);
}

TEST_P(StoreConformance, JobsAreListedNewestFirstInPages) {
  for (int i = 0; i < 5; ++i) {
    Batch batch = JobBatch(MakeJob("jobs/" + std::to_string(i), 1, i + 1));
    if (i == 3) batch.jobs.push_back({"jobs/3", State::kCancelled, "", "", true, 0, 5});
    if (i == 4) batch.new_jobs[0].job.set_owner("bob");
    ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  }
  JobFilter filter;
  filter.page_size = 2;
  std::vector<std::string> names;
  do {
    const auto page = store_->ListJobs(filter);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Job& job : page->jobs) names.push_back(job.name());
    filter.page_token = page->next_page_token;
  } while (!filter.page_token.empty());
  EXPECT_THAT(names, ::testing::ElementsAre("jobs/4", "jobs/3", "jobs/2", "jobs/1", "jobs/0"));
  filter = {};
  filter.state = kbench::v1::JOB_STATE_CANCELLED;
  EXPECT_EQ(store_->ListJobs(filter)->jobs.size(), 1u);
  filter = {};
  filter.owner = "bob";
  EXPECT_EQ(store_->ListJobs(filter)->jobs.size(), 1u);
  filter.page_token = "4.123";
  EXPECT_EQ(store_->ListJobs(filter).status().code(), absl::StatusCode::kInvalidArgument);
  filter.page_token = "nonsense";
  EXPECT_EQ(store_->ListJobs(filter).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(StoreConformance, ResultsAreFoundByNameAndFilterAndNeverTwice) {
  Batch batch = JobBatch(MakeJob("jobs/a", 1, 1));
  batch.results.push_back(MakeResult("jobs/a", 0, 0, "cublas", 1e-3));
  batch.results.push_back(MakeResult("jobs/a", 0, 1, "cuda/naive", 2e-3));
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  EXPECT_EQ(store_->GetResult("results/a-0-1")->implementation(), "cuda/naive");
  ResultFilter filter;
  filter.implementation = "cublas";
  filter.job = "jobs/a";
  filter.dtype = "fp16";
  ASSERT_EQ(store_->ListResults(filter)->results.size(), 1u);
  filter.dtype = "fp32";
  EXPECT_TRUE(store_->ListResults(filter)->results.empty());
  filter = {};
  filter.page_size = 1;
  const auto page = store_->ListResults(filter);
  EXPECT_EQ(page->results[0].implementation(), "cuda/naive") << "newest first";
  filter.page_token = page->next_page_token;
  EXPECT_EQ(store_->ListResults(filter)->results[0].implementation(), "cublas");
  filter.kernel = "sum";
  EXPECT_EQ(DetailsOf(store_->ListResults(filter).status()).reason, "BAD_PAGE_TOKEN")
      << "of another query";
  JobFilter jobs;
  jobs.page_token = filter.page_token;
  EXPECT_EQ(DetailsOf(store_->ListJobs(jobs).status()).reason, "BAD_PAGE_TOKEN")
      << "of another listing";
  Batch again;
  again.results.push_back(MakeResult("jobs/a", 0, 0, "cublas", 9));
  EXPECT_EQ(CommitNow(*store_, std::move(again)).first.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->GetResult("results/a-0-0")->device_time().median(), 1e-3);
}

TEST_P(StoreConformance, LatestResultsAreOfDefaultRunsOnly) {
  Batch batch = JobBatch(MakeJob("jobs/a", 1, 1));
  batch.results.push_back(MakeResult("jobs/a", 0, 0, "cublas", 1e-3));
  batch.results.push_back(MakeResult("jobs/a", 0, 1, "cublas", 2e-3));
  batch.results.push_back(MakeResult("jobs/a", 0, 2, "cublas", 3e-3));
  batch.results[2].mutable_policy()->set_target_ratio(0.02);
  batch.results.push_back(MakeResult("jobs/a", 0, 3, "cublas", 4e-3));
  batch.results[3].mutable_policy()->set_flush("dirty");
  batch.results.push_back(MakeResult("jobs/a", 0, 4, "cublas", 5e-3));
  batch.results[4].set_outcome(kbench::v1::OUTCOME_WRONG_RESULT);
  batch.results.push_back(MakeResult("jobs/a", 0, 5, "cuda/naive", 6e-3));
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  const auto latest = store_->LatestResults(10);
  ASSERT_TRUE(latest.ok()) << latest.status();
  ASSERT_EQ(latest->size(), 2u);
  EXPECT_EQ((*latest)[0].implementation(), "cuda/naive");
  EXPECT_EQ((*latest)[1].device_time().median(), 2e-3);
  EXPECT_EQ(store_->LatestResults(1)->size(), 1u);
}

TEST_P(StoreConformance, ArtifactsKeepTheirBytes) {
  const std::string content("\0binary\xff\n", 9);
  Batch batch = JobBatch(MakeJob("jobs/a", 1, 1));
  kbench::v1::Artifact artifact;
  artifact.set_name("artifacts/a-0-stderr-1.txt");
  artifact.set_media_type("text/plain");
  artifact.set_content(content);
  batch.artifacts.push_back(artifact);
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  const auto list = store_->ListArtifacts("jobs/a");
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].size_bytes(), 9);
  EXPECT_TRUE((*list)[0].content().empty());
  EXPECT_EQ(store_->GetArtifact("artifacts/a-0-stderr-1.txt")->content(), content);
}

TEST_P(StoreConformance, TheSameCodeOfManyCasesComesBackUnderEachName) {
  Batch batch = JobBatch(MakeJob("jobs/a", 1, 1));
  const std::vector<std::pair<std::string, std::string>> files = {{"artifacts/a-0-x.ptx", "code"},
                                                                  {"artifacts/a-1-x.ptx", "code"},
                                                                  {"artifacts/a-2-x.ptx", "core"},
                                                                  {"artifacts/a-3-x.ptx", ""}};
  for (const auto& [name, content] : files) {
    kbench::v1::Artifact artifact;
    artifact.set_name(name);
    artifact.set_media_type("text/x-ptx");
    artifact.set_content(content);
    batch.artifacts.push_back(artifact);
  }
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  EXPECT_EQ(store_->ListArtifacts("jobs/a")->size(), files.size());
  for (const auto& [name, content] : files) {
    const auto artifact = store_->GetArtifact(name);
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    EXPECT_EQ(artifact->content(), content);
    EXPECT_EQ(artifact->size_bytes(), static_cast<std::int64_t>(content.size()));
  }
}

TEST_P(StoreConformance, ManyThreadsCommitAndRead) {
  constexpr int kThreads = 4;
  constexpr int kJobs = 50;
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kJobs; ++i) {
        const std::string name = "jobs/" + std::to_string(t) + "x" + std::to_string(i);
        if (!CommitNow(*store_, JobBatch(MakeJob(name, 1, t * kJobs + i + 1))).first.ok()) {
          ++failures;
        }
        if (!store_->GetJob(name, true).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  JobFilter filter;
  filter.page_size = 1000;
  EXPECT_EQ(store_->ListJobs(filter)->jobs.size(), std::size_t{kThreads * kJobs});
}

TEST_P(StoreConformance, TheNewestUsageOfAnOwnerComesBackAndZeroForgetsIt) {
  Batch batch;
  batch.usages = {{"ana", 10.5, 1'700'000'000.25}, {"bob", 3, 5}, {"ana", 20.5, 1'700'000'001.5}};
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  Reopen();
  auto restored = store_->Restore();
  ASSERT_TRUE(restored.ok()) << restored.status();
  ASSERT_EQ(restored->usages.size(), 2u);
  EXPECT_EQ(restored->usages[0].owner, "ana");
  EXPECT_EQ(restored->usages[0].seconds, 20.5);
  EXPECT_EQ(restored->usages[0].as_of, 1'700'000'001.5);
  Batch forget;
  forget.usages = {{"bob", 0, 6}};
  ASSERT_TRUE(CommitNow(*store_, std::move(forget)).first.ok());
  restored = store_->Restore();
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->usages.size(), 1u);
}

TEST_P(StoreConformance, RecentDurationsAreOfWholeCasesThatSucceeded) {
  Batch batch = JobBatch(MakeJob("jobs/a", 3, 1));
  batch.cases.push_back(Ended("jobs/a", 0, State::kSucceeded));
  batch.cases.push_back(Ended("jobs/a", 1, State::kFailed));
  batch.cases.push_back(Ended("jobs/a", 2, State::kSucceeded));
  batch.results.push_back(MakeResult("jobs/a", 0, 0, "cublas", 1e-3));
  batch.results.push_back(MakeResult("jobs/a", 0, 1, "cuda/naive", 1e-3));
  batch.results.push_back(MakeResult("jobs/a", 1, 0, "cublas", 1e-3));
  batch.results.push_back(MakeResult("jobs/a", 2, 0, "triton", 1e-3));
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  const auto durations = store_->RecentDurations(100);
  ASSERT_TRUE(durations.ok()) << durations.status();
  ASSERT_EQ(durations->size(), 2u);
  const CaseDuration& first = (*durations)[0];
  EXPECT_EQ(first.kernel, "matmul");
  EXPECT_EQ(first.dtype, "fp16");
  EXPECT_EQ(first.shape, "m=1");
  EXPECT_EQ(first.mode, "cold");
  EXPECT_EQ(first.device, "gpu0");
  EXPECT_EQ(first.seconds, 1.25);
  EXPECT_THAT(first.implementations, ::testing::UnorderedElementsAre("cublas", "cuda/naive"));
  EXPECT_THAT((*durations)[1].implementations, ::testing::ElementsAre("triton")) << "oldest first";
  EXPECT_EQ(store_->RecentDurations(3)->size(), 1u) << "a case that is cut would look slow";
}

TEST_P(StoreConformance, RecordsAreKeptByKindAndKeyUntilTheyGo) {
  Batch batch;
  const std::string bytes("\0a\xff", 3);
  batch.records = {
      {"schedule", "nightly", bytes}, {"schedule", "a", "1"}, {"cell", "nightly", "2"}};
  ASSERT_TRUE(CommitNow(*store_, batch).first.ok());
  Reopen();
  auto schedules = store_->ReadRecords("schedule");
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  ASSERT_EQ(schedules->size(), 2u);
  EXPECT_EQ((*schedules)[0].key, "a") << "by key";
  EXPECT_EQ((*schedules)[1].payload, bytes);
  Batch change;
  change.records = {{"schedule", "a", ""}, {"schedule", "nightly", "new"}};
  ASSERT_TRUE(CommitNow(*store_, change).first.ok());
  schedules = store_->ReadRecords("schedule");
  ASSERT_EQ(schedules->size(), 1u);
  EXPECT_EQ((*schedules)[0].payload, "new");
  EXPECT_EQ(store_->ReadRecords("cell")->size(), 1u);
}

TEST_P(StoreConformance, DevicesMaintenanceFaultsAndDefaultsAreKept) {
  Batch batch;
  KnownDevice known;
  known.device.set_name("gpu0");
  known.device.set_worker("w1");
  (*known.device.mutable_labels())["rack"] = "a";
  known.seen_at = 1'700'000'000.5;
  batch.devices.known.push_back(known);
  MaintenanceRecord asked{"gpu0", false, {}, false};
  asked.maintenance.set_kind("drain");
  asked.maintenance.set_reason("new fans");
  asked.maintenance.set_by("ana");
  asked.maintenance.mutable_since()->set_seconds(1'700'000'000);
  MaintenanceRecord automatic = asked;
  automatic.automatic = true;
  automatic.maintenance.set_kind("quarantine");
  automatic.maintenance.set_good_canaries(2);
  MaintenanceRecord doubted = automatic;
  doubted.automatic = false;
  batch.devices.maintenance = {asked, automatic, doubted};
  batch.devices.faults.push_back({"gpu0", "boot1", 7});
  batch.devices.defaults = {{"", "gpu0"}, {"ana", "model=L4"}};
  ASSERT_TRUE(CommitNow(*store_, batch).first.ok());
  Reopen();
  auto stored = store_->ReadDevices();
  ASSERT_TRUE(stored.ok()) << stored.status();
  ASSERT_EQ(stored->known.size(), 1u);
  EXPECT_EQ(stored->known[0].device.labels().at("rack"), "a");
  EXPECT_EQ(stored->known[0].seen_at, 1'700'000'000.5);
  ASSERT_EQ(stored->maintenance.size(), 3u) << "none stands in place of another one";
  EXPECT_EQ(stored->maintenance[0].maintenance.SerializeAsString(),
            asked.maintenance.SerializeAsString());
  EXPECT_EQ(stored->maintenance[1].maintenance.kind(), "quarantine");
  EXPECT_FALSE(stored->maintenance[1].automatic);
  EXPECT_EQ(stored->maintenance[2].maintenance.good_canaries(), 2);
  ASSERT_EQ(stored->faults.size(), 1u);
  EXPECT_EQ(stored->faults[0].number, 7);
  ASSERT_EQ(stored->defaults.size(), 2u);
  EXPECT_EQ(stored->defaults[1].device, "model=L4");

  Batch end;
  end.devices.forgotten.push_back("gpu0");
  automatic.ended = doubted.ended = true;
  end.devices.maintenance = {automatic, doubted};
  end.devices.faults.push_back({"gpu0", "boot2", 1});
  end.devices.defaults = {{"", "cpu"}, {"ana", ""}};
  ASSERT_TRUE(CommitNow(*store_, end).first.ok());
  stored = store_->ReadDevices();
  EXPECT_TRUE(stored->known.empty());
  ASSERT_EQ(stored->maintenance.size(), 1u);
  EXPECT_EQ(stored->maintenance[0].maintenance.kind(), "drain");
  EXPECT_EQ(stored->faults[0].boot_id, "boot2");
  ASSERT_EQ(stored->defaults.size(), 1u);
  EXPECT_EQ(stored->defaults[0].device, "cpu");
}

}  // namespace kbench::store
