// The queue as text, from fixed snapshots.
#include "client/output/queue_text.h"

#include "client/output/display_width.h"
#include "client/output/time_range.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using kbench::v1::QueueSnapshot;
using kbench::v1::TimeRange;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Parse;

constexpr double kNow = 1000;

TimeRange Range(double earliest, double latest) {
  TimeRange range;
  range.mutable_earliest()->set_seconds(static_cast<std::int64_t>(kNow + earliest));
  range.mutable_latest()->set_seconds(static_cast<std::int64_t>(kNow + latest));
  return range;
}

std::string When(double earliest, double latest) { return WhenText(Range(earliest, latest), kNow); }

TEST(TimeRangeTest, IsAsCoarseAsItIsUncertain) {
  EXPECT_EQ(When(40, 170), "in 40 s to 3 min");
  EXPECT_EQ(When(43, 172), "in 40 s to 3 min");
  EXPECT_EQ(When(125, 300), "in 2 to 5 min");
  EXPECT_EQ(When(3, 8), "in 3 to 8 s");
  EXPECT_EQ(When(120, 120), "in about 2 min");
  EXPECT_EQ(When(0, 150), "within 3 min");
  EXPECT_EQ(When(-20, 0), "now");
  EXPECT_EQ(When(5400, 9000), "in 1.5 to 2.5 h");
  EXPECT_EQ(When(3600 * 50, 3600 * 80), "in 2 to 4 days");
  EXPECT_EQ(When(57, 58), "in 55 s to 1 min") << "58 s up is a minute, not 60 s";
  EXPECT_EQ(WhenText(TimeRange(), kNow), "nobody can say when");
}

TEST(TimeRangeTest, ARangeOfNoUseSaysSo) {
  EXPECT_EQ(When(60, 4 * 3600), "in 1 min to 4 h (hard to say)");
  EXPECT_EQ(When(0, 4 * 3600), "within 4 h (hard to say)");
  EXPECT_EQ(When(3600, 4 * 3600), "in 60 min to 4 h");
}

TEST(TimeRangeTest, CellsAreShort) {
  EXPECT_EQ(WhenCell(Range(40, 170), kNow), "40 s-3 min");
  EXPECT_EQ(WhenCell(Range(125, 300), kNow), "2-5 min");
  EXPECT_EQ(WhenCell(Range(0, 170), kNow), "<3 min");
  EXPECT_EQ(WhenCell(Range(120, 120), kNow), "~2 min");
  EXPECT_EQ(WhenCell(Range(0, 0), kNow), "now");
  EXPECT_EQ(WhenCell(TimeRange(), kNow), "?");
}

TEST(DisplayWidthTest, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("ana"), 3u);
  EXPECT_EQ(DisplayWidth("Jürgen"), 6u);
  EXPECT_EQ(DisplayWidth("Ju\u0308rgen"), 6u) << "a mark of its own";
  EXPECT_EQ(DisplayWidth("李雷"), 4u);
  EXPECT_EQ(DisplayWidth("\xff\xc3"), 2u) << "what is no UTF-8";
  EXPECT_EQ(CutToWidth("李雷", 3), "李");
  EXPECT_EQ(CutToWidth("Jürgen", 2), "Jü");
  EXPECT_EQ(Cut("Jürgen Groß", 7), "Jürgen~");
}

QueueSnapshot Sample() {
  return Parse<QueueSnapshot>(R"(
    time { seconds: 1000 }
    devices {
      device: "gpu0" state: "BUSY" model: "NVIDIA H200" waiting_jobs: 2
      running { job: "jobs/k3f9x2ab" owner: "ana" priority_class: "interactive" case_index: 1
                cases: 10 text: "matmul fp16 4096"
                progress { phase: "measure" round: 12 max_rounds: 60 }
                yields { earliest { seconds: 1020 } latest { seconds: 1040 } } }
      foreign { pid: 4711 user: "bob" command: "python" memory_bytes: 12884901888 utilization: 0.37 }
      foreign { utilization: -1 }
    }
    devices { device: "cpu" state: "READY" model: "EPYC" }
    waiting { job: "jobs/aaaaaaaa" owner: "Jürgen" priority_class: "interactive"
              text: "sum fp32 64Mi" waiting_cases: 3 position: 1 device: "gpu0"
              start_estimate { earliest { seconds: 1020 } latest { seconds: 1170 } }
              estimated_seconds: 32 }
    waiting { job: "jobs/bbbbbbbb" owner: "李雷" priority_class: "batch" text: "softmax fp16 4096x4096"
              waiting_cases: 100 position: 4 device: "gpu9" reason: "NO_DEVICE"
              message: "no device it may run on has connected yet" }
    waiting_jobs: 12 waiting_cases: 230
    owners { owner: "Jürgen" used_seconds: 0 waiting_cases: 3 }
    owners { owner: "ana" used_seconds: 3000 running_cases: 1 waiting_cases: 9 })");
}

TEST(QueueTextTest, WhoRunsWhoIsNextAndWhoElseIsThere) {
  const std::vector<std::string> lines = QueueLines(Sample(), kNow);
  EXPECT_THAT(
      lines,
      ElementsAre(
          "gpu0 (NVIDIA H200) runs matmul fp16 4096 of ana, job k3f9x2ab, case 2 of 10",
          "  measuring, round 12 of 60; free in 20 to 40 s",
          "  others: python (pid 4711, user bob), 12.0 GiB, 37 %",
          "  others: a process of another container, use not known", "cpu (EPYC) is free", "",
          "12 jobs (230 cases) wait, 2 of them shown",
          "job       owner   class        next case               cases  takes  device  starts",
          "aaaaaaaa  Jürgen  interactive  sum fp32 64Mi               3   35 s  gpu0    20 s-3 min",
          "bbbbbbbb  李雷    batch        softmax fp16 4096x4096    100      ?  gpu9    held up",
          "held up: no device it may run on has connected yet", "",
          "owner   used lately  running  waiting", "Jürgen            -        0        3",
          "ana          50 min        1        9"));
}

TEST(QueueTextTest, EveryLineFitsWhateverTheWidth) {
  QueueSnapshot queue = Sample();
  queue.mutable_waiting(0)->set_owner(std::string(300, 'x'));
  queue.mutable_waiting(0)->set_text(std::string(300, 'y'));
  queue.mutable_waiting(0)->set_device(std::string(300, 'z'));
  queue.mutable_devices(0)->set_model(std::string(300, 'm'));
  queue.mutable_devices(1)->set_state_message(std::string(300, 'w'));
  queue.mutable_devices(0)->mutable_foreign(0)->set_command(std::string(300, 'c'));
  for (const std::size_t width : {90u, 80u, 60u, 40u, 30u}) {
    for (const std::string& line : QueueLines(queue, kNow, width)) {
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
  const std::vector<std::string> narrow = QueueLines(Sample(), kNow, 60);
  EXPECT_THAT(narrow, ::testing::Contains(HasSubstr("aaaaaaaa")));
  EXPECT_THAT(narrow, ::testing::Contains(HasSubstr("20 s-3 min"))) << "the start stays";
  EXPECT_THAT(narrow, ::testing::Not(::testing::Contains(HasSubstr("interactive"))));
}

TEST(QueueTextTest, TextOfOthersDoesNotDriveTheTerminal) {
  QueueSnapshot queue = Sample();
  queue.mutable_waiting(0)->set_owner("a\x1b[2Jb");
  queue.mutable_devices(0)->mutable_foreign(0)->set_command("\x1b]0;x\x07");
  queue.mutable_devices(0)->mutable_running()->set_owner("c\nd");
  for (const std::string& line : QueueLines(queue, kNow)) {
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  }
}

TEST(QueueTextTest, HoldsWaitsAndOtherStates) {
  kbench::v1::DeviceQueue device = Parse<kbench::v1::DeviceQueue>(R"(
    device: "gpu0" state: "HELD"
    running { job: "jobs/h" owner: "ana" text: "hold 30m" hold: true cases: 1
              yields { earliest { seconds: 1000 } latest { seconds: 1720 } } })");
  EXPECT_THAT(DeviceLines(device, kNow),
              ElementsAre("gpu0 is held: hold 30m of ana, job h", "  free in at most 12 min"));
  device = Parse<kbench::v1::DeviceQueue>(R"(
    device: "gpu0" state: "BUSY"
    running { job: "jobs/k" owner: "ana" text: "null fp32 1" cases: 1
              progress { phase: "wait" message: "waiting for the device: python uses 37 % of it" } })");
  EXPECT_THAT(DeviceLines(device, kNow),
              ElementsAre("gpu0 runs null fp32 1 of ana, job k",
                          "  waiting for the device: python uses 37 % of it; free when the others "
                          "let it run"));
  device = Parse<kbench::v1::DeviceQueue>(
      R"(device: "gpu1" state: "DRAINED" state_message: "new fan, says carl")");
  EXPECT_THAT(DeviceLines(device, kNow), ElementsAre("gpu1 is DRAINED: new fan, says carl"));
  EXPECT_THAT(QueueLines(QueueSnapshot(), kNow),
              ElementsAre("no devices: no worker has connected yet", "", "nobody waits"));
}

}  // namespace
}  // namespace kbench::client
