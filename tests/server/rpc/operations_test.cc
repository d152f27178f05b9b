// What those who keep the lab running do: backups, checks and retention of a coordinator that
// serves, and the drain at its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "grpcpp/grpcpp.h"
#include "kbench/v1/admin_service.grpc.pb.h"
#include "proto/support/rpc_status.h"
#include "server/rpc/store_keeper.h"
#include "server/store/backup.h"
#include "server/store/sqlite.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using kbench::v1::AdminService;
using ::testing::HasSubstr;

absl::StatusOr<v1::BackupResponse> Backup(TestServer& server, const std::string& name) {
  grpc::ClientContext context;
  v1::BackupRequest request;
  request.set_name(name);
  v1::BackupResponse response;
  const auto stub = AdminService::NewStub(server.channel());
  const grpc::Status status = stub->Backup(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

absl::StatusOr<v1::StoreInfo> GetStore(TestServer& server, bool check) {
  grpc::ClientContext context;
  v1::GetStoreRequest request;
  request.set_check(check);
  v1::StoreInfo info;
  const auto stub = AdminService::NewStub(server.channel());
  const grpc::Status status = stub->GetStore(&context, request, &info);
  if (!status.ok()) return FromGrpc(status);
  return info;
}

TEST(Operations, ABackupIsMadeWhileItServesAndHoldsWhatWasThere) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const std::string name = server.MustSubmit(MatmulJob(2)).name();
  worker.RunOne();
  const auto made = Backup(server, "first");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_GT(made->size_bytes(), 0);
  worker.RunOne();
  server.WaitFor(name, v1::JOB_STATE_SUCCEEDED);
  TempDir other;
  ASSERT_TRUE(store::RestoreBackup(made->path(), other / "data", false, 1).ok());
  const auto store = store::OpenSqliteStore({.data_dir = other / "data"});
  ASSERT_TRUE(store.ok()) << store.status();
  const auto job = (*store)->GetJob(name, true);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->cases_done(), 1);
  EXPECT_EQ(job->cases(0).results_size(), 2);

  EXPECT_EQ(Backup(server, "first").status().code(), absl::StatusCode::kAlreadyExists);
  for (const char* bad : {"../x", "a/b", ".hidden", "a b", "\xc3\xa9"}) {
    EXPECT_EQ(Backup(server, bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_TRUE(Backup(server, "").ok()) << "named by the time";
}

TEST(Operations, TheStoreTellsItsBytesAndThatItIsSound) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  server.MustSubmit(MatmulJob());
  worker.RunOne();
  ASSERT_TRUE(Backup(server, "one").ok());
  const auto info = GetStore(server, true);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(info->checked());
  EXPECT_EQ(info->problem(), "");
  EXPECT_TRUE(info->has_last_backup_time());
  EXPECT_GE(info->bytes().at("artifacts"), 200'000);
  for (const char* kind : {"database", "wal", "results", "events", "backups"}) {
    EXPECT_GT(info->bytes().at(kind), 0) << kind;
  }
  EXPECT_FALSE(GetStore(server, false)->checked());
}

TEST(Operations, TheKeeperExportsTheBytesFromTheStart) {
  TempDir dir;
  auto store = store::OpenSqliteStore({.data_dir = dir / "data"});
  ASSERT_TRUE(store.ok());
  metrics::Metrics metrics("1");
  Coordinator coordinator(**store, metrics, SystemClock(), TestServer::DefaultOptions());
  ASSERT_TRUE(coordinator.Start().ok());
  KeeperOptions options;
  options.backup_dir = dir / "backups";
  options.first_seconds = 3600;  // the bytes are counted before the first round
  StoreKeeper keeper(**store, metrics, SystemClock(), options);
  keeper.Start();
  for (const char* kind : {"samples", "logs", "artifacts", "events", "results", "database"}) {
    const std::string series = "kbench_store_bytes{kind=\"" + std::string(kind);
    for (int i = 0; i < 500 && metrics.Text().find(series) == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_THAT(metrics.Text(), HasSubstr(series));
  }
  keeper.Stop();
  coordinator.Drain();
  coordinator.Stop();
}

TEST(Operations, AJobOfAfterTheBackupIsUnknownAfterTheRestoreAndItsAttemptIsKilled) {
  TestServer server;
  const auto made = Backup(server, "early");
  ASSERT_TRUE(made.ok()) << made.status();
  v1::AttemptId id;
  {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
    server.MustSubmit(MatmulJob());
    const auto assign = worker.Assign();
    ASSERT_TRUE(assign.has_value());
    id = assign->id();
  }
  const std::string data = server.dir() / "data";
  server.StopFor([&] {
    const auto done = store::RestoreBackup(made->path(), data, true, 1);
    EXPECT_TRUE(done.ok()) << done.status();
  });
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), "boot1", {HeldOf(id, false)});
  const auto welcome = worker.Welcome();
  ASSERT_TRUE(welcome.has_value());
  ASSERT_EQ(welcome->held_size(), 1);
  EXPECT_EQ(welcome->held(0).action(), v1::HeldVerdict::KILL);
  worker.Beat();
  server.MustSubmit(MatmulJob());
  const auto next = worker.Assign();
  ASSERT_TRUE(next.has_value());
  EXPECT_GT(next->id().epoch(), id.epoch()) << "an epoch is never used twice";
}

TEST(Operations, AttemptsOutliveADrainAndCountOnce) {
  TestServer server;
  const std::string name = server.MustSubmit(MatmulJob(2)).name();
  v1::Assign assign;
  {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
    assign = *worker.Assign();
    server.server().Shutdown();
    EXPECT_EQ(worker.End().code(), absl::StatusCode::kUnavailable) << "told to come back";
  }
  server.Restart();
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), "boot1", {HeldOf(assign.id(), false)});
  EXPECT_EQ(worker.Welcome()->held(0).action(), v1::HeldVerdict::KEEP);
  worker.SendResult(FakeWorker::GoodResult(assign));
  EXPECT_FALSE(worker.Ack()->stale());
  worker.RunOne();
  const v1::Job job = server.WaitFor(name, v1::JOB_STATE_SUCCEEDED);
  for (const auto& item : job.cases()) EXPECT_EQ(item.attempt(), 1);
}

TEST(Operations, WhatAStoppingWorkerHandsBackIsTriedAgainAtOnce) {
  TestServer server;
  const std::string name = server.MustSubmit(MatmulJob()).name();
  FakeWorker first(server, "w1", FakeDevice("cpu", "cpu"));
  const auto assign = first.Assign();
  ASSERT_TRUE(assign.has_value());
  v1::Heartbeat draining;
  draining.set_draining(true);
  *draining.add_held() = HeldOf(assign->id(), false);
  first.Beat(draining);
  v1::AttemptResult back;
  *back.mutable_id() = assign->id();
  back.set_cancelled(true);
  first.SendResult(back);
  EXPECT_FALSE(first.Ack()->stale());
  FakeWorker second(server, "w2", FakeDevice("cpu2", "cpu"));
  second.RunOne();
  const v1::Job job = server.WaitFor(name, v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.cases(0).worker(), "w2");
  EXPECT_FALSE(first.Assign(0.3).has_value()) << "it takes nothing any more";
}

}  // namespace
}  // namespace kbench::server
