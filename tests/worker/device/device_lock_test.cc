#include "worker/device/device_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kbench {
namespace {

using testing::HasSubstr;

class DeviceLockTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/lock-" + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
    setenv("KBENCH_LOCK_DIR", dir_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("KBENCH_LOCK_DIR");
    std::filesystem::remove_all(dir_);
  }
  std::string dir_;
};

TEST_F(DeviceLockTest, SecondHolderIsRefusedWithThePidOfTheFirst) {
  const auto first = DeviceLock::Take({"cpu0", "cpu1"});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = DeviceLock::Take({"cpu1", "cpu2"});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("process " + std::to_string(getpid())));
  EXPECT_TRUE(DeviceLock::Take({"cpu2"}).ok()) << "a refused lock must hold nothing";
}

TEST_F(DeviceLockTest, ReleasedWhenTheHolderEnds) {
  { ASSERT_TRUE(DeviceLock::Take({"GPU-1"}).ok()); }
  EXPECT_TRUE(DeviceLock::Take({"GPU-1"}).ok());
}

TEST_F(DeviceLockTest, MovingKeepsIt) {
  auto first = DeviceLock::Take({"GPU-1"});
  ASSERT_TRUE(first.ok());
  const DeviceLock moved = *std::move(first);
  EXPECT_FALSE(DeviceLock::Take({"GPU-1"}).ok());
}

TEST_F(DeviceLockTest, AFolderThatIsNotThereIsOneClearLine) {
  setenv("KBENCH_LOCK_DIR", "/nonexistent/locks", 1);
  const auto lock = DeviceLock::Take({"GPU-1"});
  EXPECT_THAT(std::string(lock.status().message()), HasSubstr("KBENCH_LOCK_DIR"));
}

}  // namespace
}  // namespace kbench
