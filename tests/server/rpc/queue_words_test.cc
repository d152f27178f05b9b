// The words of the queue.
#include "server/rpc/queue_words.h"

#include <gtest/gtest.h>

#include "proto/support/clock.h"

namespace kbench::server {
namespace {

using kbench::v1::Device;
using kbench::v1::ForeignProcess;

TEST(QueueWords, CasesAndHolds) {
  kbench::v1::JobSpec spec;
  kbench::v1::CaseSpec& item = *spec.add_cases();
  item.set_kernel("matmul");
  item.set_dtype("fp16");
  item.set_size("4096");
  item.set_mode("cold");
  EXPECT_EQ(CaseText(spec, 0), "matmul fp16 4096");
  item.set_mode("graph");
  EXPECT_EQ(CaseText(spec, 0), "matmul fp16 4096 graph");
  EXPECT_EQ(CaseText(spec, 1), "") << "no such case";
  EXPECT_EQ(CaseText(spec, -1), "");
  *spec.mutable_hold()->mutable_duration() = ToDuration(5400);
  EXPECT_EQ(CaseText(spec, 0), "hold 1h30m");
}

TEST(QueueWords, Durations) {
  EXPECT_EQ(DurationText(0), "0s");
  EXPECT_EQ(DurationText(45), "45s");
  EXPECT_EQ(DurationText(90), "1m30s");
  EXPECT_EQ(DurationText(1800), "30m");
  EXPECT_EQ(DurationText(7200), "2h");
  EXPECT_EQ(SpanText(12), "12 s");
  EXPECT_EQ(SpanText(600), "10 min");
  EXPECT_EQ(SpanText(5 * 3600), "5.0 h");
}

TEST(QueueWords, TheBusiestIsNamedAndTheIdleAreNot) {
  Device device;
  EXPECT_EQ(BusyText(device.foreign(), true), "");
  ForeignProcess& idle = *device.add_foreign();
  idle.set_pid(1);
  idle.set_utilization(0);
  EXPECT_EQ(BusyText(device.foreign(), true), "") << "an idle notebook";
  ForeignProcess& secret = *device.add_foreign();
  secret.set_utilization(-1);
  EXPECT_EQ(BusyText(device.foreign(), false), "");
  EXPECT_EQ(BusyText(device.foreign(), true),
            "a process of another container holds it, and the driver does not tell whether it "
            "computes");
  ForeignProcess& busy = *device.add_foreign();
  busy.set_pid(4711);
  busy.set_user("bob");
  busy.set_command("python");
  busy.set_utilization(0.37);
  EXPECT_EQ(BusyText(device.foreign(), true), "python (pid 4711, user bob) uses 37 % of it");
  busy.set_user("");
  EXPECT_EQ(WhoText(busy), "pid 4711 of another container");
}

TEST(QueueWords, ADevicesOwnReasonIsTold) {
  Device device;
  EXPECT_EQ(FitText("DRAINING", nullptr), "it takes nothing new");
  device.mutable_maintenance()->set_reason("new fan");
  device.mutable_maintenance()->set_by("carl");
  EXPECT_EQ(FitText("DRAINING", &device), "it takes nothing new: new fan, says carl");
  EXPECT_EQ(FitText("QUARANTINED", &device), "its numbers are not trusted: new fan, says carl");
  device.set_state_message("calibration failed at flush");
  EXPECT_EQ(FitText("DEVICE_NOT_READY", &device),
            "it is being calibrated or is not fit to measure: calibration failed at flush");
  EXPECT_EQ(FitText("", &device), "");
}

}  // namespace
}  // namespace kbench::server
