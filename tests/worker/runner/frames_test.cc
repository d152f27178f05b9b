#include "worker/runner/frames.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kbench/v1/runner.pb.h"
#include "proto/support/json.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;

class FramesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(ends_), 0);
    std::signal(SIGPIPE, SIG_IGN);
  }
  void TearDown() override {
    CloseWriter();
    close(ends_[0]);
  }
  void Send(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = write(ends_[1], text.data() + done, text.size() - done);
      ASSERT_GT(count, 0);
      done += static_cast<std::size_t>(count);
    }
  }
  void CloseWriter() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  void ExpectLine(FrameReader& reader, const std::string& line) {
    const auto next = reader.Next();
    ASSERT_TRUE(next.ok()) << next.status();
    ASSERT_TRUE(next->has_value());
    EXPECT_EQ(**next, line);
  }

  int ends_[2] = {-1, -1};
};

TEST_F(FramesTest, GivesLinesInOrderThenTheEnd) {
  Send("one\n\ntwo\n");
  CloseWriter();
  FrameReader reader(ends_[0]);
  ExpectLine(reader, "one");
  ExpectLine(reader, "");
  ExpectLine(reader, "two");
  EXPECT_FALSE(reader.Next()->has_value());
}

TEST_F(FramesTest, JoinsALineThatArrivesInPieces) {
  FrameReader reader(ends_[0]);
  std::thread sender([&] {
    for (const char* piece : {"a", "bc", "", "d\nrest"}) {
      Send(piece);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    CloseWriter();
  });
  ExpectLine(reader, "abcd");
  EXPECT_FALSE(reader.Next()->has_value());  // "rest" has no end: its writer died
  sender.join();
}

TEST_F(FramesTest, TakesALineOfExactlyTheLimitAndRefusesOneByteMore) {
  const std::string longest(kMaxFrameBytes, 'x');
  std::thread sender([&] {
    Send(longest + "\n" + longest + "y\nafter\n");
    CloseWriter();
  });
  FrameReader reader(ends_[0]);
  ExpectLine(reader, longest);
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kResourceExhausted);
  ExpectLine(reader, "after");
  sender.join();
}

TEST_F(FramesTest, SkipsAnEndlessLineWithoutKeepingIt) {
  std::thread sender([&] {
    const std::string chunk(1 << 20, 'z');
    for (int i = 0; i < 16; ++i) Send(chunk);
    Send("\nnext\n");
    CloseWriter();
  });
  FrameReader reader(ends_[0]);
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kResourceExhausted);
  ExpectLine(reader, "next");
  EXPECT_FALSE(reader.Next()->has_value());
  sender.join();
}

TEST_F(FramesTest, SaysWhenTheDescriptorCannotBeRead) {
  FrameReader reader(-1);
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FramesTest, WritesOneLineAMessage) {
  v1::RunnerReply reply;
  reply.set_id(7);
  reply.mutable_failure()->set_message("two\nlines");
  FrameWriter writer(ends_[1]);
  ASSERT_TRUE(writer.Write(reply).ok());
  CloseWriter();
  FrameReader reader(ends_[0]);
  const auto line = reader.Next();
  ASSERT_TRUE(line.ok() && line->has_value());
  v1::RunnerReply back;
  ASSERT_TRUE(FromFrame(**line, &back).ok());
  EXPECT_EQ(back.id(), 7u);
  EXPECT_EQ(back.failure().message(), "two\nlines");
  EXPECT_FALSE(reader.Next()->has_value());
}

TEST_F(FramesTest, WritesNothingOfAMessageThatMakesNoFrame) {
  FrameWriter writer(ends_[1]);
  v1::RunnerReply reply;
  reply.mutable_prepared()->set_estimate_seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(writer.Write(reply).code(), absl::StatusCode::kInvalidArgument);
  reply.mutable_failure()->set_message(std::string(kMaxFrameBytes, 'm'));
  EXPECT_EQ(writer.Write(reply).code(), absl::StatusCode::kResourceExhausted);
  CloseWriter();
  EXPECT_FALSE(FrameReader(ends_[0]).Next()->has_value());
}

TEST_F(FramesTest, SaysWhenTheReaderIsGone) {
  close(ends_[0]);
  FrameWriter writer(ends_[1]);
  EXPECT_EQ(writer.Write(v1::RunnerReply()).code(), absl::StatusCode::kUnavailable);
  ends_[0] = open("/dev/null", O_RDONLY);
}

}  // namespace
}  // namespace kbench
