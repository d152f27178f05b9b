// Cases that have the results of another job's, and the searches that find what was measured and
// what was poison.
#include <gtest/gtest.h>

#include "proto/support/clock.h"
#include "tests/server/store/conformance.h"

namespace kbench::store {
namespace {

using scheduler::State;

scheduler::CaseTransition EndedAt(const std::string& job, int index, State state, double time) {
  scheduler::Case item;
  item.ref = {job, index};
  item.state = state;
  item.ended_at = time;
  return {item};
}

TEST_P(StoreConformance, ACaseMayHaveTheResultsOfAnother) {
  Batch batch = JobBatch(MakeJob("jobs/a", 2, 1));
  batch.cases.push_back(EndedAt("jobs/a", 1, State::kSucceeded, 100));
  for (int cell = 0; cell < 2; ++cell) {
    batch.results.push_back(MakeResult("jobs/a", 1, cell, "cublas", 1e-3));
  }
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  Batch taken = JobBatch(MakeJob("jobs/b", 1, 2));
  taken.cases.push_back(EndedAt("jobs/b", 0, State::kSucceeded, 200));
  taken.cases.back().state.results_of = "jobs/a";
  taken.cases.back().state.results_case = 1;
  NewEvent event;
  event.job = "jobs/b";
  event.event.mutable_case_changed()->set_state(kbench::v1::JOB_STATE_SUCCEEDED);
  event.event.mutable_case_changed()->set_results_of("jobs/a");
  taken.events.push_back(event);
  ASSERT_TRUE(CommitNow(*store_, std::move(taken)).first.ok());
  for (int round = 0; round < 2; ++round) {
    const auto job = store_->GetJob("jobs/b", true);
    ASSERT_TRUE(job.ok());
    EXPECT_EQ(job->cases(0).results_of(), "jobs/a");
    ASSERT_EQ(job->cases(0).results_size(), 2);
    EXPECT_EQ(job->cases(0).results(1).name(), "results/a-1-1");
    const auto events = store_->ReadEvents("jobs/b", 0, 10);
    ASSERT_TRUE(events.ok());
    EXPECT_EQ(events->at(0).case_changed().results_of(), "jobs/a");
    EXPECT_EQ(events->at(0).case_changed().results_size(), 2);
    const auto restored = store_->Restore();
    ASSERT_TRUE(restored.ok());
    ASSERT_EQ(restored->jobs.size(), 2u);
    EXPECT_EQ(restored->jobs[1].cases[0].results_of, "jobs/a");
    EXPECT_EQ(restored->jobs[1].cases[0].results_case, 1);
    Reopen();
  }
}

TEST_P(StoreConformance, WhatWasMeasuredIsFoundByItsKeyAndAge) {
  for (int i = 0; i < 3; ++i) {
    const std::string name = "jobs/" + std::to_string(i);
    Batch batch = JobBatch(MakeJob(name, 1, i + 1));
    batch.cases.push_back(EndedAt(name, 0, State::kSucceeded, 100));
    for (const char* implementation : {"cublas", "triton"}) {
      batch.results.push_back(
          MakeResult(name, 0, static_cast<int>(batch.results.size()), implementation, 1e-3));
      *batch.results.back().mutable_create_time() = ToTimestamp((1000 + i) * 1'000'000LL);
    }
    ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  }
  MeasuredFilter filter{.kernel = "matmul",
                        .dtype = "fp16",
                        .shape = "m=1",
                        .mode = "cold",
                        .implementation = "triton",
                        .device = "gpu0",
                        .since = 1001};
  const auto found = store_->FindMeasured(filter);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).ref.job, "jobs/2") << "the newest first";
  EXPECT_EQ(found->at(0).measured_at, 1002);
  EXPECT_EQ(found->at(0).results.size(), 2u) << "with the other rows of the case";
  EXPECT_EQ(found->at(1).ref.job, "jobs/1");
  filter.most = 1;
  EXPECT_EQ(store_->FindMeasured(filter)->size(), 1u);
  filter.shape = "m=2";
  EXPECT_TRUE(store_->FindMeasured(filter)->empty());
}

TEST_P(StoreConformance, DeathsOfWorkersAreFoundByTimeAndWhileTheCaseIsOpen) {
  Batch batch = JobBatch(MakeJob("jobs/a", 5, 1));
  for (int i = 0; i < 3; ++i) {
    batch.cases.push_back(EndedAt("jobs/a", i, State::kFailed, 100 + i));
    batch.cases.back().state.reason = i == 1 ? "INFRA" : "POISON";
    batch.cases.back().state.worker_deaths = i == 1 ? 1 : 2;
  }
  // One that nothing killed, and one that is tried again after its worker's death.
  batch.cases.push_back(EndedAt("jobs/a", 3, State::kSucceeded, 101));
  batch.cases.push_back(EndedAt("jobs/a", 4, State::kQueued, 0));
  batch.cases.back().state.worker_deaths = 1;
  batch.cases.back().state.started_at = 99;
  ASSERT_TRUE(CommitNow(*store_, std::move(batch)).first.ok());
  const auto all = store_->DeathsSince(100);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ(all->at(0).ref.index, 4);
  EXPECT_EQ(all->at(0).at, 99);
  EXPECT_FALSE(all->at(2).poison);
  EXPECT_EQ(all->at(2).deaths, 1);
  EXPECT_TRUE(all->at(3).poison);
  EXPECT_EQ(all->at(3).ref.index, 2);
  EXPECT_EQ(all->at(3).deaths, 2);
  EXPECT_EQ(all->at(3).at, 102);
  EXPECT_EQ(all->at(3).spec.cases(2).shape(), "m=3");
  EXPECT_EQ(store_->DeathsSince(102)->size(), 2u) << "what is not over counts, however old";
}

}  // namespace
}  // namespace kbench::store
