#include "worker/device/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace kbench {
namespace {

using testing::HasSubstr;

TEST(CpuDevice, KnowsThisMachine) {
  const auto opened = OpenDevice("cpu");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const DeviceFacts& facts = opened->facts;
  EXPECT_EQ(facts.device.kind(), "cpu");
  EXPECT_EQ(facts.device.cores(), static_cast<int>(facts.cpus.size()));
  EXPECT_GT(facts.device.memory_bytes(), 0);
  EXPECT_GT(AvailableHostMemory(), 0);
  EXPECT_LE(AvailableHostMemory(), facts.device.memory_bytes());
  EXPECT_FALSE(facts.device.architecture().empty());
  EXPECT_TRUE(facts.device.peak_flops().empty()) << "no invented peaks";
  EXPECT_EQ(facts.default_name, "cpu");
  EXPECT_EQ(facts.lock_keys.size(), facts.cpus.size());
}

TEST(CpuDevice, ASubsetIsPinned) {
  const auto all = OpenDevice("cpu");
  const int cpu = all->facts.cpus.back();
  const auto one = OpenDevice("cpu:" + std::to_string(cpu));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->facts.cpus, std::vector<int>{cpu});
  EXPECT_EQ(one->facts.device.cores(), 1);
}

TEST(CpuDevice, ACpuThatIsNotThereNamesThoseThatAre) {
  const auto opened = OpenDevice("cpu:8000");
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("no CPU 8000"));
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("it may use 0"));
}

TEST(CpuMonitor, StealOfItsOwnCpusOnly) {
  const std::string dir = testing::TempDir() + "/proc-" + std::to_string(getpid());
  std::filesystem::create_directories(dir);
  const auto write = [&](int busy, int steal, int other_steal, int running) {
    std::ofstream(dir + "/stat") << "cpu  1 2 3 4 5 6 7 8 0 0\n"
                                 << "cpu0 " << busy << " 0 0 0 0 0 0 " << steal << " 0 0\n"
                                 << "cpu1 0 0 0 0 0 0 0 " << other_steal << " 0 0\n"
                                 << "procs_running " << running << "\n";
  };
  write(100, 10, 50, 4);
  const auto monitor = MakeCpuMonitor({0}, dir);
  monitor->Begin();
  write(190, 20, 5000, 1);
  const auto telemetry = monitor->End();
  EXPECT_DOUBLE_EQ(telemetry.steal_ratio(), 0.1);
  EXPECT_EQ(telemetry.load(), 3) << "others in the queue before the burst";
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace kbench
