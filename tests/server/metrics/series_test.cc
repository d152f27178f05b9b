// What /metrics shows of the moment and keeps over restarts, over a whole coordinator with workers
// that say what a test tells them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "grpcpp/channel.h"
#include "kbench/v1/admin_service.grpc.pb.h"
#include "kbench/v1/history_service.grpc.pb.h"
#include "kbench/v1/schedule_service.grpc.pb.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SubmitJobRequest JobOf(const std::string& owner, const std::string& priority_class,
                       const std::string& device = "") {
  SubmitJobRequest request = MatmulJob(1, device);
  request.set_owner(owner);
  request.mutable_spec()->set_priority_class(priority_class);
  return request;
}

class SeriesTest : public ::testing::Test {
 protected:
  std::string Text() { return server_.server().metrics().Text(); }
  // Once it has the line; else as it is after a while.
  std::string TextWith(const std::string& line) {
    std::string text = Text();
    for (int i = 0; i < 1000 && text.find(line) == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      text = Text();
    }
    EXPECT_THAT(text, HasSubstr(line));
    return text;
  }
  static int Count(const std::string& text, const std::string& what) {
    int count = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
    return count;
  }
  // An assignment answered well.
  static void Answer(FakeWorker& worker, const v1::Assign& assign) {
    AttemptResult result = FakeWorker::GoodResult(assign);
    result.clear_artifacts();
    worker.SendResult(result);
    ASSERT_TRUE(worker.Ack().has_value());
  }

  TestServer server_;
};

TEST_F(SeriesTest, TheNextJobsAndWhatRuns) {
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  EXPECT_THAT(TextWith("kbench_worker_up{device=\"cpu\"} 1\n"),
              AllOf(Not(HasSubstr("kbench_device_running_")), Not(HasSubstr("kbench_queue_next"))));
  server_.MustSubmit(JobOf("ada@lab-1", "ci"));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  for (int i = 0; i < 5; ++i) server_.MustSubmit(JobOf("bob", "batch"));
  server_.MustSubmit(JobOf("carl", "ci", "cpu"));
  SubmitJobRequest sum = JobOf("dora", "interactive");
  sum.mutable_spec()->mutable_cases(0)->set_kernel("sum");
  sum.mutable_spec()->mutable_cases(0)->set_size("4M");
  sum.mutable_spec()->mutable_cases(0)->set_mode("steady");
  server_.MustSubmit(sum);
  const std::string text = Text();
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("kbench_device_running_info{device=\"cpu\",owner=\"ada@lab-1\","
                      "class=\"ci\",case=\"matmul fp32 64\"} 1\n"),
            HasSubstr("kbench_device_running_start_timestamp_seconds{device=\"cpu\"} 1"),
            HasSubstr("kbench_queue_next_info{position=\"1\",owner=\"dora\",class=\"interactive\","
                      "case=\"sum fp32 4M steady\",selector=\"\"} 1\n"),
            HasSubstr("kbench_queue_next_info{position=\"2\",owner=\"carl\",class=\"ci\","
                      "case=\"matmul fp32 64\",selector=\"cpu\"} 1\n"),
            HasSubstr("kbench_queue_next_info{position=\"5\",owner=\"bob\",class=\"batch\","),
            Not(HasSubstr("position=\"6\""))));
  EXPECT_EQ(Count(text, "kbench_queue_next_info{"), 5);
  Answer(worker, *assign);
  EXPECT_THAT(TextWith("kbench_device_running_info{device=\"cpu\",owner=\"dora\""),
              HasSubstr("kbench_queue_next_info{position=\"1\",owner=\"carl\""));
}

TEST_F(SeriesTest, EverythingThatBlocksADeviceStandsBesideTheRest) {
  const auto admin = AdminService::NewStub(server_.channel());
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  const auto blocked = [](const std::string& kind, int value) {
    return "kbench_device_blocked{device=\"cpu\",kind=\"" + kind + "\"} " + std::to_string(value) +
           "\n";
  };
  EXPECT_THAT(TextWith(blocked("hold", 0)),
              AllOf(HasSubstr(blocked("drain", 0)), HasSubstr(blocked("quarantine", 0))));
  SubmitJobRequest hold;
  hold.set_owner("ada");
  hold.mutable_spec()->set_device("cpu");
  *hold.mutable_spec()->mutable_hold()->mutable_duration() = ToDuration(5400);
  server_.MustSubmit(hold);
  ASSERT_TRUE(worker.Assign().has_value());
  EXPECT_THAT(TextWith(blocked("hold", 1)), HasSubstr("case=\"hold 1h30m\"} 1\n"));
  Device reply;
  {
    grpc::ClientContext context;
    DrainDeviceRequest request;
    request.set_device("cpu");
    request.set_reason("new fan");
    ASSERT_TRUE(admin->DrainDevice(&context, request, &reply).ok());
  }
  {
    grpc::ClientContext context;
    QuarantineDeviceRequest request;
    request.set_device("cpu");
    request.set_reason("odd numbers");
    ASSERT_TRUE(admin->QuarantineDevice(&context, request, &reply).ok());
  }
  const auto all = AllOf(HasSubstr(blocked("drain", 1)), HasSubstr(blocked("quarantine", 1)),
                         HasSubstr(blocked("hold", 1)));
  const std::string asked = "kbench_device_quarantine_info{device=\"cpu\",reason=\"ASKED\"} 1\n";
  EXPECT_THAT(Text(), AllOf(all, HasSubstr(asked)));
  worker.Disconnect();
  EXPECT_THAT(TextWith("kbench_worker_up{device=\"cpu\"} 0\n"), all);
  server_.Restart();
  EXPECT_THAT(TextWith("kbench_worker_up{device=\"cpu\"} 0\n"), AllOf(all, HasSubstr(asked)))
      << "known from the store";
  grpc::ClientContext context;
  ResumeDeviceRequest request;
  request.set_device("cpu");
  request.set_kind("quarantine");
  ASSERT_TRUE(
      AdminService::NewStub(server_.channel())->ResumeDevice(&context, request, &reply).ok());
  EXPECT_THAT(Text(), AllOf(HasSubstr(blocked("drain", 1)), HasSubstr(blocked("quarantine", 0))));
}

TEST_F(SeriesTest, TheTimeOfTheLastHeartbeatNeverGoesBack) {
  const std::string up = "kbench_worker_up{device=\"cpu\"} ";
  const std::string heard = "\nkbench_worker_last_heartbeat_timestamp_seconds{device=\"cpu\"} ";
  const auto line = [&heard](const std::string& text) {
    const std::size_t at = text.find(heard);
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at + 1) - at);
  };
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  EXPECT_NE(line(TextWith(up + "1\n")), "");
  server_.Restart();  // it was there when the coordinator ended, and has not come back
  EXPECT_EQ(line(TextWith(up + "0\n")), "");
  FakeWorker again(server_, "w1", FakeDevice("cpu", "cpu"));
  EXPECT_NE(line(TextWith(up + "1\n")), "");
  again.Disconnect();
  const std::string last = line(TextWith(up + "0\n"));
  EXPECT_NE(last, "");
  server_.Restart();  // nothing was heard since
  EXPECT_EQ(line(TextWith(up + "0\n")), last);
}

class EpochTest : public SeriesTest {
 protected:
  static Device Gpu(const std::string& driver, bool calibrated = true) {
    Device device = FakeDevice("gpu0", "cuda");
    device.set_driver(driver);
    device.set_environment_epoch("made up");  // not for a worker to say
    device.set_state(calibrated ? "READY" : "CALIBRATING");
    if (calibrated) device.mutable_calibration()->set_engine_version("engine 1");
    return device;
  }
  static std::string EpochIn(const std::string& text) {
    const std::size_t info = text.find("kbench_device_info{device=\"gpu0\"");
    const std::size_t at = text.find("epoch=\"", info) + 7;
    return text.substr(at, text.find('"', at) - at);
  }
  static std::string Changes(int count) {
    return "kbench_epochs_total{device=\"gpu0\"} " + std::to_string(count) + "\n";
  }
};

TEST_F(EpochTest, RestartsAreNoChange) {
  {
    FakeWorker worker(server_, "w1", Gpu("580.95"));
    TextWith(Changes(0));
    worker.Disconnect();
  }
  const std::string epoch = EpochIn(Text());
  EXPECT_EQ(epoch.size(), 12u) << epoch;
  server_.Restart();
  EXPECT_THAT(Text(), HasSubstr(Changes(0))) << "begins at 0, so that the first is a rise";
  EXPECT_EQ(EpochIn(Text()), epoch);
  FakeWorker worker(server_, "w1", Gpu("580.95", false), "boot2");
  TextWith("kbench_device_state{device=\"gpu0\",state=\"CALIBRATING\"} 1\n");
  EXPECT_EQ(EpochIn(Text()), epoch) << "what is not known yet is no change";
  Heartbeat heartbeat;
  heartbeat.set_device_state("READY");
  heartbeat.mutable_calibration()->set_engine_version("engine 1");
  worker.Beat(heartbeat);
  TextWith("kbench_device_state{device=\"gpu0\",state=\"READY\"} 1\n");
  EXPECT_THAT(Text(), HasSubstr(Changes(0)));
  EXPECT_EQ(EpochIn(Text()), epoch);
}

TEST_F(EpochTest, AChangeCountsOnce) {
  std::string epoch;
  {
    FakeWorker worker(server_, "w1", Gpu("580.95"));
    epoch = EpochIn(TextWith(Changes(0)));
    worker.Disconnect();
  }
  {
    FakeWorker worker(server_, "w1", Gpu("580.159"), "boot2");
    EXPECT_NE(EpochIn(TextWith(Changes(1))), epoch) << "another driver";
    Heartbeat heartbeat;
    heartbeat.set_device_state("READY");
    *heartbeat.mutable_calibration() = Gpu("").calibration();
    worker.Beat(heartbeat);
    heartbeat.mutable_calibration()->set_engine_version("engine 2");
    worker.Beat(heartbeat);
    TextWith(Changes(2));
    epoch = EpochIn(Text());
    Device gone = Gpu("");  // as after a driver update without a reboot
    gone.set_state("OFFLINE");
    gone.set_state_reason("DRIVER_MISMATCH");
    worker.Disconnect();
    FakeWorker away(server_, "w1", gone, "boot3");
    TextWith("kbench_device_state{device=\"gpu0\",state=\"OFFLINE\"} 1\n");
    EXPECT_EQ(EpochIn(Text()), epoch);
    away.Disconnect();
  }
  server_.Restart();
  EXPECT_EQ(EpochIn(TextWith(Changes(0))), epoch);
}

TEST_F(SeriesTest, WhatIsPinnedOrScheduledStaysAmongManyOthersAndOverARestart) {
  const auto size = [](int n) {
    return "m=" + std::to_string(n) + ",n=" + std::to_string(n) + ",k=" + std::to_string(n);
  };
  const auto series = [&](int n) {
    return "kbench_result_duration_seconds{kernel=\"matmul\",implementation=\"cpu/onednn\","
           "dtype=\"fp32\",size=\"" +
           size(n) + ",layout=nn\",mode=\"cold\",device=\"cpu\"} ";
  };
  const auto run = [&](FakeWorker& worker, SubmitJobRequest request) {
    request.mutable_spec()->add_implementations("cpu/onednn");
    server_.MustSubmit(request);
    for (int i = 0; i < request.spec().cases_size(); ++i) {
      const auto assign = worker.Assign();
      ASSERT_TRUE(assign.has_value());
      Answer(worker, *assign);
    }
  };
  FakeWorker worker(server_, "w1", FakeDevice("cpu", "cpu"));
  {
    grpc::ClientContext context;
    SetScheduleRequest request;
    Schedule& schedule = *request.mutable_schedule();
    schedule.set_name("nightly");
    schedule.set_at("02:00");
    schedule.set_zone("UTC");
    *schedule.add_jobs() = MatmulJob().spec();
    schedule.mutable_jobs(0)->mutable_cases(0)->set_size("60");
    const auto schedules = ScheduleService::NewStub(server_.channel());
    ASSERT_TRUE(schedules->SetSchedule(&context, request, &schedule).ok());
  }
  run(worker, MatmulJob(3));  // 64, 65, 66
  SubmitJobRequest scheduled = MatmulJob(1);
  scheduled.mutable_spec()->mutable_cases(0)->set_size("60");
  (*scheduled.mutable_spec()->mutable_labels())["schedule"] = "nightly";
  run(worker, scheduled);
  TextWith("kbench_result_scheduled_interval_seconds{");
  grpc::Status pinned;
  for (int i = 0; i < 1000; ++i) {
    grpc::ClientContext context;
    PinBaselineRequest request;
    request.mutable_cell()->set_kernel("matmul");
    request.mutable_cell()->set_implementation("cpu/onednn");
    request.mutable_cell()->set_dtype("fp32");
    request.mutable_cell()->set_shape(size(64) + ",layout=nn");
    request.mutable_cell()->set_device("cpu");
    CellState state;
    pinned = HistoryService::NewStub(server_.channel())->PinBaseline(&context, request, &state);
    if (pinned.ok()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(pinned.ok()) << pinned.error_message();
  SubmitJobRequest many = MatmulJob(101);
  for (int i = 0; i < 101; ++i) {
    many.mutable_spec()->mutable_cases(i)->set_size(std::to_string(100 + i));
  }
  run(worker, many);
  const std::string text = TextWith(series(200));
  const auto expected = AllOf(HasSubstr(series(64)), HasSubstr(series(60)), HasSubstr(series(101)),
                              Not(HasSubstr(series(65))), Not(HasSubstr(series(100))));
  EXPECT_THAT(text, expected);
  EXPECT_THAT(text, HasSubstr("kbench_result_series_evicted_total 3\n"));
  worker.Disconnect();
  server_.Restart();
  EXPECT_THAT(Text(), expected);
  EXPECT_EQ(Count(Text(), "kbench_result_duration_seconds{"), 102);
  EXPECT_THAT(Text(), HasSubstr("kbench_result_scheduled_interval_seconds{"));
}

}  // namespace
}  // namespace kbench::server
