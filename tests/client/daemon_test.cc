// Daemons with a stand-in for the real programs: `sleep`, under its own name.
#include "client/stack/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client/stack/gpus.h"
#include "client/stack/layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench::client {
namespace {

using ::testing::ElementsAre;

class DaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/daemon-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    pid_path_ = folder_ + "/x.pid";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<Daemon> Start(const std::string& script) {
    return StartDaemon({{"/bin/bash", "-c", script}, pid_path_, folder_ + "/x.log"});
  }

  std::string folder_;
  std::string pid_path_;
};

TEST_F(DaemonTest, IsFoundWhileItLivesAndStops) {
  // Blocks without a child, which would share the lock.
  ASSERT_EQ(mkfifo((folder_ + "/never").c_str(), 0600), 0);
  auto started = Start("echo hello; read -r line < " + folder_ + "/never");
  ASSERT_TRUE(started.ok()) << started.status();
  for (int i = 0; i < 250 && LastLines(folder_ + "/x.log", 1).empty(); ++i) usleep(20'000);
  auto found = FindDaemon(pid_path_, "bash");
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->pid(), started->pid());
  EXPECT_EQ(getsid(started->pid()), started->pid()) << "in its own session";
  EXPECT_EQ(Start("true").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE((*found)->Stop(5));
  const auto after = FindDaemon(pid_path_, "bash");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_FALSE(after->has_value());
  EXPECT_THAT(LastLines(folder_ + "/x.log", 1), ElementsAre("hello"));
}

TEST_F(DaemonTest, OneThatIgnoresSigtermIsKilled) {
  auto started = Start("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(started.ok()) << started.status();
  for (int i = 0; i < 250 && LastLines(folder_ + "/x.log", 1).empty(); ++i) usleep(20'000);
  ASSERT_THAT(LastLines(folder_ + "/x.log", 1), ElementsAre("ready"));
  EXPECT_FALSE(started->Ended());
  EXPECT_TRUE(started->Stop(0.2));
}

TEST_F(DaemonTest, OneKilledFromOutsideIsGone) {
  auto started = Start("exec sleep 60");
  ASSERT_TRUE(started.ok()) << started.status();
  kill(started->pid(), SIGKILL);
  EXPECT_TRUE(started->Ended(5));
  const auto found = FindDaemon(pid_path_, "sleep");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->has_value()) << "the pid in the file means nothing without the lock";
}

TEST_F(DaemonTest, AStrangerWithTheLockIsNeverTakenForOurs) {
  const int fd = open(pid_path_.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  const std::string pid = std::to_string(getppid());
  ASSERT_EQ(write(fd, pid.data(), pid.size()), static_cast<ssize_t>(pid.size()));
  EXPECT_EQ(FindDaemon(pid_path_, "kbench-server").status().code(),
            absl::StatusCode::kFailedPrecondition);
  close(fd);
}

TEST_F(DaemonTest, TheFilesItHasOpenAreItsOwn) {
  ASSERT_EQ(mkfifo((folder_ + "/never").c_str(), 0600), 0);
  auto started =
      Start("exec 7>" + folder_ + "/mine.lock; echo ready; read -r line < " + folder_ + "/never");
  ASSERT_TRUE(started.ok()) << started.status();
  for (int i = 0; i < 250 && LastLines(folder_ + "/x.log", 1).empty(); ++i) usleep(20'000);
  const int other = open((folder_ + "/other.lock").c_str(), O_RDWR | O_CREAT, 0600);
  EXPECT_TRUE(started->HasOpen("mine.lock"));
  EXPECT_FALSE(started->HasOpen("other.lock")) << "open in this process, not in that one";
  close(other);
  EXPECT_TRUE(started->Stop(5));
  EXPECT_FALSE(started->HasOpen("mine.lock"));
}

TEST_F(DaemonTest, NoFileNoDaemon) {
  const auto found = FindDaemon(folder_ + "/none.pid", "kbench-server");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  EXPECT_FALSE(StartDaemon({{"/bin/true"}, folder_ + "/no/x.pid", folder_ + "/x.log"}).ok());
}

TEST_F(DaemonTest, GpusAreCountedByTheirNodes) {
  for (const char* name : {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "tty0"}) {
    std::ofstream(folder_ + "/" + name) << "";
  }
  EXPECT_EQ(CountGpus(folder_), 3);
}

TEST(LayoutTest, NamesOfDevicesAndFiles) {
  EXPECT_EQ(DeviceName("cpu"), "cpu");
  EXPECT_EQ(DeviceName("cpu:0-3"), "cpu_0-3");
  EXPECT_THAT(WorkerSpec("cpu:0").argv, ::testing::IsSupersetOf({"cpu:0", "--name", "cpu_0"}));
  EXPECT_THAT(WorkerSpec("cpu").argv, ::testing::Not(::testing::Contains("--name")));
  EXPECT_EQ(DeviceName("0"), "gpu0");
  EXPECT_EQ(DeviceName("GPU-1234"), "");
  EXPECT_EQ(std::filesystem::path(WorkerPidPath("cpu:0-3/../x")).filename(),
            "kbench-worker-cpu_0-3_.._x.pid");
}

}  // namespace
}  // namespace kbench::client
