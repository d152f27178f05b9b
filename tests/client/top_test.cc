// top: what is drawn, what is logged, how it reconnects, and that the terminal is given back. (Ways
// out of a process are tested with the real program: tests/e2e/test_queue.py.)
#include <fcntl.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <sstream>
#include <thread>

#include "client/top/frames.h"
#include "client/top/screen.h"
#include "client/top/terminal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using kbench::v1::QueueSnapshot;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Parse;

TEST(ScreenTest, DrawsOverTheFrameBefore) {
  EXPECT_EQ(DrawFrame({"one", "two"}, {40, 10}), "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J");
  EXPECT_EQ(DrawFrame({"one", "two", "three"}, {40, 2}),
            "\x1b[Hone\x1b[K\r\n... 2 more lines\x1b[K\x1b[J");
  EXPECT_EQ(DrawFrame({"a line that is too long"}, {12, 5}), "\x1b[Ha line tha~\x1b[K\x1b[J");
  EXPECT_EQ(DrawFrame({"\x1b[31m"}, {40, 5}), "\x1b[H?[31m\x1b[K\x1b[J") << "text of others";
  EXPECT_EQ(DrawFrame({}, {0, 0}), "\x1b[H\x1b[J") << "a terminal without a size";
}

QueueSnapshot Busy() {
  return Parse<QueueSnapshot>(R"(
    time { seconds: 1000 }
    devices { device: "gpu0" state: "BUSY"
              running { job: "jobs/k" owner: "ana" text: "sum fp32 1Mi" cases: 1
                        progress { phase: "measure" round: 3 }
                        yields { earliest { seconds: 1010 } latest { seconds: 1100 } } } }
    waiting_jobs: 1 waiting_cases: 2)");
}

TEST(TopLinesTest, TimesGoOnBetweenSnapshotsAndAbsenceIsSaid) {
  QueueFeed::State state;
  EXPECT_THAT(TopLines(state, "unix:/x", 50, 90), ElementsAre("kbench at unix:/x: connecting ..."));
  state.queue = Busy();
  state.received_at = 50;
  std::vector<std::string> lines = TopLines(state, "unix:/x", 50, 90);
  EXPECT_THAT(lines[0], HasSubstr("kbench at unix:/x, "));
  EXPECT_THAT(lines, ::testing::Contains("  measuring, round 3; free in 10 s to 2 min"));
  lines = TopLines(state, "unix:/x", 55, 90);
  EXPECT_THAT(lines, ::testing::Contains("  measuring, round 3; free in 5 s to 2 min"));
  state.away_since = 52;
  EXPECT_THAT(TopLines(state, "unix:/x", 64, 90)[1],
              "the coordinator is away for 10 s: reconnecting ...");
}

TEST(ChangeLogTest, OnlyNewsIsToldAndWhatMovesOnIsNone) {
  ChangeLog log;
  QueueSnapshot queue = Busy();
  EXPECT_EQ(log.Take(queue).size(), 2u);
  queue.mutable_devices(0)->mutable_running()->mutable_progress()->set_round(4);
  EXPECT_THAT(log.Take(queue), IsEmpty());
  queue.mutable_devices(0)->mutable_running()->mutable_progress()->set_phase("wait");
  const auto lines = log.Take(queue);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(" gpu0 runs sum fp32 1Mi of ana, job k, waits for others on it"));
  queue.clear_devices();
  queue.set_waiting_jobs(2);
  EXPECT_THAT(log.Take(queue), ElementsAre(HasSubstr(" 2 jobs (2 cases) wait")));
}

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(openpty(&master_, &slave_, nullptr, nullptr, nullptr), 0);
    fcntl(master_, F_SETFL, O_NONBLOCK);
    ASSERT_EQ(tcgetattr(slave_, &before_), 0);
  }
  void TearDown() override {
    close(master_);
    close(slave_);
  }
  std::string Read() {
    std::string text;
    char bytes[4096];
    for (ssize_t n = 0; (n = read(master_, bytes, sizeof(bytes))) > 0;) {
      text.append(bytes, static_cast<std::size_t>(n));
    }
    return text;
  }
  void ExpectAsBefore(const std::string& drawn) {
    termios after = {};
    ASSERT_EQ(tcgetattr(slave_, &after), 0);
    EXPECT_EQ(after.c_lflag, before_.c_lflag);
    EXPECT_THAT(drawn, HasSubstr("\x1b[?25l"));
    EXPECT_GT(drawn.rfind("\x1b[?25h\x1b[?1049l"), drawn.rfind("\x1b[?1049h")) << "left last";
  }
  int master_ = -1;
  int slave_ = -1;
  termios before_ = {};
};

TEST_F(TerminalTest, IsGivenBackAtTheEnd) {
  {
    const Terminal terminal(slave_, slave_);
    termios now = {};
    ASSERT_EQ(tcgetattr(slave_, &now), 0);
    EXPECT_EQ(now.c_lflag & (ICANON | ECHO), 0u);
    EXPECT_NE(now.c_lflag & ISIG, 0u) << "Ctrl-C stays a signal";
    EXPECT_TRUE(terminal.Write("frame"));
    EXPECT_EQ(terminal.Size().columns, 80) << "this one has no size";
  }
  ExpectAsBefore(Read());
  RestoreTerminal();
  EXPECT_THAT(Read(), IsEmpty()) << "only once";
}

// The verb, without a terminal, against a coordinator that says what the test wants.
class TopTest : public ::testing::Test {
 protected:
  int Run(const std::vector<std::string>& arguments) {
    Io io{out_, err_};
    return fake_.Run(arguments, io, interrupt_);
  }
  testing::FakeCoordinator fake_;
  Interrupt interrupt_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(TopTest, OnceIsOneFrame) {
  fake_.jobs.queue = Busy();
  EXPECT_EQ(Run({"top", "--once", "--device", "gpu0", "-n", "7"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("gpu0 runs sum fp32 1Mi of ana, job k\n"));
  EXPECT_THAT(out_.str(), ::testing::Not(HasSubstr("\x1b")));
  ASSERT_EQ(fake_.jobs.queue_requests.size(), 1u);
  EXPECT_EQ(fake_.jobs.queue_requests[0].device(), "gpu0");
  EXPECT_EQ(fake_.jobs.queue_requests[0].most_waiting(), 7);
}

TEST_F(TopTest, ReconnectsAndEndsWithCtrlC) {
  QueueSnapshot later = Busy();
  later.set_waiting_jobs(9);
  fake_.jobs.queue_streams = {{.snapshots = {Busy()}, .end = absl::UnavailableError("restarting")},
                              {.snapshots = {later}, .hang = true}};
  int code = -1;
  std::thread top([&] { code = Run({"top"}); });
  EXPECT_TRUE(fake_.jobs.WaitForQueueStreams(2));
  // The second stream's word has been printed when Ctrl-C comes, or comes never.
  for (int i = 0; i < 500 && !interrupt_.fired(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (i == 100) interrupt_.Fire();
  }
  top.join();
  EXPECT_EQ(code, 0);
  EXPECT_THAT(out_.str(), HasSubstr(" 1 job (2 cases) waits\n"));
  EXPECT_THAT(out_.str(), HasSubstr(" 9 jobs (2 cases) wait\n"));
}

TEST_F(TopTest, AnAnswerThatWillNotGetBetterEndsIt) {
  fake_.jobs.queue_streams = {
      {.snapshots = {},
       .end = MakeError(absl::StatusCode::kNotFound, "there is no device gpu7",
                        {.reason = "UNKNOWN_DEVICE"})}};
  EXPECT_EQ(Run({"top", "--device", "gpu7"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no device gpu7"));
}

}  // namespace
}  // namespace kbench::client
