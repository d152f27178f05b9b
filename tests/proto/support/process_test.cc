#include "proto/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace kbench {
namespace {

// Runs a shell line with its output in a pipe at descriptor 3.
struct Child {
  Process process;
  int out = -1;
};

Child Shell(const std::string& line, ProcessSpec spec = {}) {
  int fds[2];
  EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
  spec.argv = {"/bin/sh", "-c", line};
  spec.descriptors = {-1, -1, -1, fds[1]};
  auto process = Spawn(spec);
  EXPECT_TRUE(process.ok()) << process.status();
  close(fds[1]);
  return {process.value_or(Process{}), fds[0]};
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t got; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

TEST(Spawn, PlacesDescriptorsAndEnvironment) {
  setenv("KB_GONE", "1", 1);
  ProcessSpec spec;
  spec.env = {{"KB_SET", "yes"}};
  spec.unset_env = {"KB_GONE"};
  const Child child =
      Shell("echo \"$KB_SET/$KB_GONE\" >&3; ls /proc/self/fd | wc -l >&3; exit 3", spec);
  const std::string text = ReadAll(child.out);
  EXPECT_EQ(text.rfind("yes/\n", 0), 0u) << text;
  // 0, 1, 2, 3 and the one that ls opens (a pipe to wc is its 1): nothing of ours leaks in.
  EXPECT_LE(std::stoi(text.substr(5)), 5) << text;
  const ExitStatus status = WaitProcess(child.process, 5);
  EXPECT_TRUE(status.exited);
  EXPECT_EQ(status.code, 3);
  EXPECT_EQ(status.ToString(), "exit code 3");
}

TEST(Spawn, NamesTheProgramThatIsMissing) {
  const auto process = Spawn({.argv = {"/nowhere/program"}});
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.status().ToString().find("/nowhere/program"), std::string::npos);
}

TEST(WaitProcess, ReportsTheSignal) {
  const Child child = Shell("kill -SEGV $$");
  const ExitStatus status = WaitProcess(child.process, 5);
  EXPECT_EQ(status.signal, SIGSEGV);
  EXPECT_NE(status.ToString().find("signal 11"), std::string::npos);
  close(child.out);
}

TEST(KillProcessGroup, EndsGrandchildrenThatIgnoreSigterm) {
  const Child child = Shell("trap '' TERM; (trap '' TERM; echo up >&3; sleep 60) & sleep 60");
  char buffer[4] = {};
  ASSERT_EQ(read(child.out, buffer, 3), 3);
  const auto start = std::chrono::steady_clock::now();
  const ExitStatus status = KillProcessGroup(child.process, 0.1);
  EXPECT_EQ(status.signal, SIGKILL);
  // End of file only when the grandchild, which holds the descriptor too, is gone.
  EXPECT_EQ(ReadAll(child.out), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(WaitProcess, SaysStillRunning) {
  const Child child = Shell("sleep 60");
  EXPECT_FALSE(WaitProcess(child.process, 0).exited);
  KillProcessGroup(child.process, 0);
  close(child.out);
}

}  // namespace
}  // namespace kbench
