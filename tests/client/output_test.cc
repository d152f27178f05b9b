// What reaches the reader: text of others without control bytes, and output that cannot be written.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <sstream>

#include "client/output/fd_buffer.h"
#include "client/output/text_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kEvil[] = "evil\n\x1b[31mred";

TEST(PlainTest, ControlBytesOfOthersDoNotReachTheTerminal) {
  EXPECT_EQ(Plain(kEvil), "evil??[31mred");
  EXPECT_EQ(Plain("a\x7f\xc2\x9b"
                  "b"),
            "a??b");
  EXPECT_EQ(Plain("\xc2\xb5s \xe2\x82\xac"), "\xc2\xb5s \xe2\x82\xac") << "UTF-8 stays";
  EXPECT_EQ(Cut(kEvil, 6), "evil?~");
  EXPECT_THAT(Wrap(kEvil, 40, 0), Not(HasSubstr("\x1b")));
}

TEST(PlainTest, NeitherWholeCellsNorTheLastOfAShortRowDo) {
  const TextTable table{{"job", "owner", "first"}, {{kEvil, kEvil, kEvil}, {"x", kEvil}}, {}};
  const std::string text = table.ToString();
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("evil??[31mred  evil??[31mred  evil??[31mred\n"));
}

// What a verb that prints `text` ends with when its output goes to `fd`.
int Finish(int fd, const std::string& text, std::string* complaint) {
  FdBuffer buffer(fd);
  std::ostream out(&buffer);
  std::ostringstream err;
  Io io{out, err};
  out << text;
  const int code = FinishOutput(io, buffer, 0);
  *complaint = err.str();
  return code;
}

TEST(FdBufferTest, AFullDiskIsAnError) {
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::string complaint;
  EXPECT_EQ(Finish(fd, "short\n", &complaint), 5);
  EXPECT_EQ(complaint, "kbench-client: cannot write the output: No space left on device\n");
  EXPECT_EQ(Finish(fd, std::string(1 << 20, 'x'), &complaint), 5) << "noticed before the end";
  EXPECT_THAT(complaint, HasSubstr("No space left"));
  EXPECT_EQ(Finish(fd, "", &complaint), 0) << "nothing to write, nothing lost";
  close(fd);
}

TEST(FdBufferTest, AClosedOutputIsAnErrorAndAClosedPipeIsQuiet) {
  std::string complaint;
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(Finish(fd, "text\n", &complaint), 5);
  EXPECT_THAT(complaint, HasSubstr("cannot write the output"));
  close(fd);
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  close(pipe_fds[0]);
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(Finish(pipe_fds[1], "text\n", &complaint), 128 + SIGPIPE);
  EXPECT_EQ(complaint, "");
  std::signal(SIGPIPE, old);
  close(pipe_fds[1]);
}

TEST(FdBufferTest, EverythingArrivesInOrder) {
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  std::string complaint;
  EXPECT_EQ(Finish(pipe_fds[1], "one\ntwo", &complaint), 0);
  char text[16] = {};
  EXPECT_EQ(read(pipe_fds[0], text, sizeof(text)), 7);
  EXPECT_STREQ(text, "one\ntwo");
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

}  // namespace
}  // namespace kbench::client
