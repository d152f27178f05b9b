// Schedules kept to their times, over a real store and coordinator; the keeper's clock is a test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpcpp/channel.h"
#include "kbench/v1/schedule_service.grpc.pb.h"
#include "server/auth/caller.h"
#include "server/rpc/schedule_service.h"
#include "server/store/sqlite.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using kbench::v1::Schedule;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kDay = 86'400;
constexpr std::int64_t kMidnightMicros = 20'000ll * 86'400 * 1'000'000;  // UTC
constexpr double kTwoHours = 2 * 3600;

Schedule Nightly(const std::string& name = "nightly") {
  Schedule schedule;
  schedule.set_name(name);
  schedule.set_owner("ana");
  schedule.set_suite("smoke");
  schedule.set_at("02:00");
  schedule.set_zone("UTC");
  *schedule.add_jobs() = MatmulJob(2).spec();
  *schedule.add_jobs() = MatmulJob(1).spec();
  return schedule;
}

class SchedulesTest : public ::testing::Test {
 protected:
  SchedulesTest() { Open(); }

  void Open() {
    keeper_.reset();
    coordinator_.reset();
    store_.reset();
    auto store = store::OpenSqliteStore({.data_dir = dir_.path()});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    coordinator_ = std::make_unique<Coordinator>(*store_, metrics_, SystemClock(),
                                                 TestServer::DefaultOptions());
    ASSERT_TRUE(coordinator_->Start().ok());
    // It looks when the test says so.
    keeper_ = std::make_unique<ScheduleKeeper>(*store_, *coordinator_, clock_, 3600);
    ASSERT_TRUE(keeper_->Start().ok());
  }

  std::vector<kbench::v1::Job> Jobs() {
    auto page = store_->ListJobs({});
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? page->jobs : std::vector<kbench::v1::Job>();
  }

  TempDir dir_;
  FakeClock clock_{kMidnightMicros};
  metrics::Metrics metrics_{"1"};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<ScheduleKeeper> keeper_;
};

TEST_F(SchedulesTest, SubmitsWhatIsDueAsItsOwnerInClassBatch) {
  const auto set = keeper_->Set(Nightly());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->next_time().seconds(), kMidnightMicros / 1'000'000 + 7200);
  EXPECT_EQ(set->interval_seconds(), kDay);
  clock_.Advance(kTwoHours - 1);
  keeper_->Look();
  EXPECT_THAT(Jobs(), IsEmpty());
  clock_.Advance(1.5);
  keeper_->Look();
  keeper_->Look();
  const auto jobs = Jobs();
  ASSERT_THAT(jobs, SizeIs(2)) << "once";
  for (const kbench::v1::Job& job : jobs) {
    EXPECT_EQ(job.owner(), "ana");
    EXPECT_EQ(job.spec().priority_class(), "batch");
    EXPECT_EQ(job.spec().labels().at("schedule"), "nightly");
  }
  const auto all = keeper_->All();
  ASSERT_THAT(all, SizeIs(1));
  ASSERT_EQ(all[0].runs_size(), 1);
  EXPECT_EQ(all[0].runs(0).jobs_size(), 2);
  EXPECT_EQ(all[0].runs(0).state(), kbench::v1::JOB_STATE_QUEUED);
  ASSERT_EQ(all[0].jobs_size(), 1) << "listed without them, but for where they run";
  EXPECT_EQ(all[0].jobs(0).cases_size(), 0);
  ASSERT_TRUE(coordinator_->Cancel(jobs[0].name()).ok());
  EXPECT_EQ(keeper_->All()[0].runs(0).state(), kbench::v1::JOB_STATE_QUEUED) << "the other waits";
  ASSERT_TRUE(coordinator_->Cancel(jobs[1].name()).ok());
  EXPECT_EQ(keeper_->All()[0].runs(0).state(), kbench::v1::JOB_STATE_CANCELLED);
}

TEST_F(SchedulesTest, ARestartMissesNothingAndRepeatsNothing) {
  ASSERT_TRUE(keeper_->Set(Nightly()).ok());
  Open();
  clock_.Advance(kTwoHours);
  keeper_->Look();
  ASSERT_THAT(Jobs(), SizeIs(2));
  Open();
  keeper_->Look();
  EXPECT_THAT(Jobs(), SizeIs(2));
  ASSERT_EQ(keeper_->All()[0].runs_size(), 1);
  clock_.Advance(1.5 * kDay);  // 14:00, the night's run was missed
  Open();
  keeper_->Look();
  EXPECT_THAT(Jobs(), SizeIs(2));
  const auto all = keeper_->All();
  EXPECT_THAT(all[0].runs(0).skipped(), HasSubstr("the coordinator was away at"));
}

TEST_F(SchedulesTest, TheRunBeforeIsWaitedFor) {
  ASSERT_TRUE(keeper_->Set(Nightly()).ok());
  clock_.Advance(kTwoHours);
  keeper_->Look();
  clock_.Advance(kDay);
  keeper_->Look();
  EXPECT_EQ(keeper_->All()[0].runs(0).skipped(), "the run before had not ended");
  for (const kbench::v1::Job& job : Jobs()) ASSERT_TRUE(coordinator_->Cancel(job.name()).ok());
  clock_.Advance(kDay);
  keeper_->Look();
  EXPECT_EQ(keeper_->All()[0].runs(0).skipped(), "");
  EXPECT_THAT(Jobs(), SizeIs(4));
}

TEST_F(SchedulesTest, WhoMayNotSubmitAnyMoreHasNoRuns) {
  keeper_->SetGuard([](const std::string& owner) {
    return owner == "ana" ? absl::UnauthenticatedError("ana is revoked") : absl::OkStatus();
  });
  ASSERT_TRUE(keeper_->Set(Nightly()).ok());
  clock_.Advance(kTwoHours);
  keeper_->Look();
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_EQ(keeper_->All()[0].runs(0).skipped(), "ana is revoked");
}

TEST_F(SchedulesTest, AreAwaitedSinceTheyWentOnAlsoAfterARestart) {
  ASSERT_TRUE(keeper_->Set(Nightly()).ok());
  EXPECT_EQ(keeper_->Series()[0].awaited, kMidnightMicros * 1e-6);
  ASSERT_TRUE(keeper_->Pause("nightly", true).ok());
  clock_.Advance(60 * kDay);
  EXPECT_EQ(keeper_->Series()[0].awaited, 0);
  ASSERT_TRUE(keeper_->Pause("nightly", false).ok());
  clock_.Advance(100);
  Open();
  EXPECT_EQ(keeper_->Series()[0].awaited, kMidnightMicros * 1e-6 + 60 * kDay);
}

TEST_F(SchedulesTest, AreAwaitedSinceTheyHadADeviceAgain) {
  store::Batch batch;
  const double now = static_cast<double>(SystemClock().WallMicros()) * 1e-6;
  batch.devices.known.push_back({FakeDevice("gpu0", "cuda"), now});
  store_->Commit(std::move(batch), [](const absl::Status& status, const auto&) {
    EXPECT_TRUE(status.ok()) << status;
  });
  Open();
  const auto awaited = [this] { return keeper_->Series()[0].awaited - kMidnightMicros * 1e-6; };
  const auto look = [this] {
    clock_.Advance(60);
    keeper_->Look();
  };
  Schedule nightly = Nightly();
  for (auto& job : *nightly.mutable_jobs()) job.set_device("gpu0");
  ASSERT_TRUE(keeper_->Set(nightly).ok());
  look();
  EXPECT_EQ(awaited(), 0);
  ASSERT_TRUE(coordinator_->BlockDevice("gpu0", "drain", "new fans", "ana").ok());
  look();
  EXPECT_EQ(awaited(), 120);
  ASSERT_TRUE(coordinator_->ResumeDevice("gpu0", "drain", "ana").ok());
  look();
  EXPECT_EQ(awaited(), 120) << "as it was last seen";
  Open();
  EXPECT_EQ(awaited(), 120);
}

TEST_F(SchedulesTest, TheMetricsSeeThem) {
  EXPECT_THAT(keeper_->Series(), IsEmpty());
  ASSERT_TRUE(keeper_->Set(Nightly()).ok());
  auto series = keeper_->Series();
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_EQ(series[0].name, "nightly");
  EXPECT_EQ(series[0].suite, "smoke");
  EXPECT_THAT(series[0].devices, IsEmpty()) << "none is known";
  EXPECT_EQ(series[0].next, kMidnightMicros * 1e-6 + kTwoHours);
  EXPECT_EQ(series[0].interval_seconds, kDay);
  EXPECT_EQ(series[0].last_ended, 0);
  clock_.Advance(kTwoHours);
  keeper_->Look();
  EXPECT_EQ(keeper_->Series()[0].last_ended, 0) << "it has begun";
  const auto jobs = Jobs();
  ASSERT_THAT(jobs, SizeIs(2));
  ASSERT_TRUE(coordinator_->Cancel(jobs[0].name()).ok());
  keeper_->Look();
  EXPECT_EQ(keeper_->Series()[0].last_ended, 0) << "one of its jobs has not ended";
  ASSERT_TRUE(coordinator_->Cancel(jobs[1].name()).ok());
  keeper_->Look();
  double end = 0;
  for (const kbench::v1::Job& job : Jobs()) {
    end = std::max(end, static_cast<double>(ToMicros(job.end_time())) * 1e-6);
  }
  EXPECT_GT(end, 0);
  EXPECT_EQ(keeper_->Series()[0].last_ended, end);
  clock_.Advance(kDay + 3600);  // too late: skipped
  keeper_->Look();
  EXPECT_EQ(keeper_->Series()[0].skipped, 1);
  EXPECT_EQ(keeper_->Series()[0].last_ended, end) << "a skipped run ends nothing";
  Open();
  series = keeper_->Series();
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_EQ(series[0].skipped, 1) << "also after a restart";
  EXPECT_EQ(series[0].last_ended, end);
  ASSERT_TRUE(keeper_->Pause("nightly", true).ok());
  EXPECT_EQ(keeper_->Series()[0].next, 0);
  EXPECT_EQ(keeper_->Series()[0].interval_seconds, kDay);
  ASSERT_TRUE(keeper_->Delete("nightly").ok());
  EXPECT_THAT(keeper_->Series(), IsEmpty());
  Open();
  ASSERT_TRUE(keeper_->Set(Nightly()).ok());
  EXPECT_EQ(keeper_->Series()[0].skipped, 0) << "another one of the same name";
  EXPECT_EQ(keeper_->Series()[0].last_ended, 0);
}

TEST(ScheduleDevices, AreThoseThatItsJobsMayRunOn) {
  TestServer server;
  FakeWorker cpu(server, "w1", FakeDevice("cpu", "cpu"));
  FakeWorker gpu(server, "w2", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(cpu.Welcome() && gpu.Welcome());
  const auto stub = kbench::v1::ScheduleService::NewStub(server.channel());
  const auto set = [&](const std::string& name, const std::vector<std::string>& selectors) {
    grpc::ClientContext context;
    kbench::v1::SetScheduleRequest request;
    *request.mutable_schedule() = Nightly(name);
    request.mutable_schedule()->clear_jobs();
    for (const std::string& selector : selectors) {
      *request.mutable_schedule()->add_jobs() = MatmulJob(1, selector).spec();
    }
    const grpc::Status status = stub->SetSchedule(&context, request, request.mutable_schedule());
    EXPECT_TRUE(status.ok()) << status.error_message();
  };
  set("both", {"cpu", "gpu0"});
  set("any", {""});
  const std::string text = server.server().metrics().Text();
  const auto info = [](const std::string& name, const std::string& device) {
    return HasSubstr("kbench_schedule_info{schedule=\"" + name + "\",suite=\"smoke\",device=\"" +
                     device + "\"} 1\n");
  };
  EXPECT_THAT(text, info("both", "cpu"));
  EXPECT_THAT(text, info("both", "gpu0"));
  EXPECT_THAT(text, info("any", "gpu0"));
  EXPECT_THAT(text, ::testing::Not(info("any", "cpu"))) << "a GPU goes first";
}

TEST_F(SchedulesTest, PausedAndDeletedOnesDoNotRun) {
  ASSERT_TRUE(keeper_->Set(Nightly()).ok());
  ASSERT_TRUE(keeper_->Set(Nightly("other")).ok());
  ASSERT_TRUE(keeper_->Pause("nightly", true).ok());
  ASSERT_TRUE(keeper_->Delete("other").ok());
  Open();
  clock_.Advance(kTwoHours);
  keeper_->Look();
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_THAT(keeper_->All(), SizeIs(1));
  const auto missing = keeper_->Pause("other", true);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(keeper_->Delete("other").code(), absl::StatusCode::kNotFound);
}

TEST_F(SchedulesTest, WhatCouldNotRunIsRefusedWhenItIsSet) {
  Schedule bad = Nightly();
  bad.mutable_jobs(1)->mutable_cases(0)->set_kernel("matmull");
  EXPECT_THAT(MessageOf(keeper_->Set(bad).status()), HasSubstr("matmull"));
  bad = Nightly("No Spaces");
  EXPECT_THAT(MessageOf(keeper_->Set(bad).status()), HasSubstr("small letters"));
  bad = Nightly();
  bad.clear_jobs();
  EXPECT_THAT(MessageOf(keeper_->Set(bad).status()), HasSubstr("1 to 100 jobs"));
  bad = Nightly();
  bad.set_at("2 am");
  EXPECT_THAT(MessageOf(keeper_->Set(bad).status()), HasSubstr("write 02:00"));
  EXPECT_THAT(keeper_->All(), IsEmpty());
}

TEST_F(SchedulesTest, OnlyItsOwnerAndAdminsChangeIt) {
  ScheduleService service(*keeper_);
  kbench::v1::SetScheduleRequest request;
  *request.mutable_schedule() = Nightly();
  Schedule schedule;
  const auth::Caller ana{.owner = "ana", .role = auth::Role::kSubmitter, .verified = true};
  const auth::Caller ben{.owner = "ben", .role = auth::Role::kSubmitter, .verified = true};
  const auth::Caller root{.owner = "root", .role = auth::Role::kAdmin, .verified = true};
  kbench::v1::PauseScheduleRequest pause;
  pause.set_name("nightly");
  pause.set_paused(true);
  {
    const auth::CallScope scope(ana);
    ASSERT_TRUE(service.SetSchedule(nullptr, &request, &schedule).ok());
    EXPECT_EQ(schedule.owner(), "ana");
  }
  {
    const auth::CallScope scope(ben);
    EXPECT_EQ(service.SetSchedule(nullptr, &request, &schedule).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(service.PauseSchedule(nullptr, &pause, &schedule).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  const auth::CallScope scope(root);
  ASSERT_TRUE(service.PauseSchedule(nullptr, &pause, &schedule).ok());
  EXPECT_TRUE(schedule.paused());
}

}  // namespace
}  // namespace kbench::server
