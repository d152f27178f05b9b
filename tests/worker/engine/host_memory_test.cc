#include "worker/engine/host_memory.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace kbench::engine {
namespace {

namespace fs = std::filesystem;

class HostMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("host_memory_test" + std::to_string(getpid()));
    Write("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    600 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  HostMemory Read() { return ReadHostMemory(root_.string()); }

  fs::path root_;
};

TEST_F(HostMemoryTest, WithoutAGroupTheMachineDecides) {
  EXPECT_EQ(Read().free_bytes, 600 * 1024);
  EXPECT_EQ(Read().total_bytes, 1000 * 1024);
}

TEST_F(HostMemoryTest, TheTightestGroupOfVersion2Counts) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/memory.max", "400000\n");
  Write("sys/fs/cgroup/a/memory.current", "300000\n");
  Write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 50000\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("sys/fs/cgroup/a/b/memory.current", "300000\n");
  EXPECT_EQ(Read().free_bytes, 150000);
  EXPECT_EQ(Read().total_bytes, 400000);
}

TEST_F(HostMemoryTest, Version1Counts) {
  Write("proc/self/cgroup", "5:memory:/job\n4:cpu:/other\n");
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "200000\n");
  Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "150000\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "150000\n");
  EXPECT_EQ(Read().free_bytes, 50000);
}

TEST_F(HostMemoryTest, AContainersOwnLimitLiesAtTheRoot) {
  Write("proc/self/cgroup", "0::/host/path/that/is/not/here\n");
  Write("sys/fs/cgroup/memory.max", "100000\n");
  Write("sys/fs/cgroup/memory.current", "120000\n");
  EXPECT_EQ(Read().free_bytes, 0);
}

TEST(HostMemoryOfThisMachine, IsPlausible) {
  const HostMemory memory = ReadHostMemory();
  EXPECT_GT(memory.free_bytes, 1 << 20);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

}  // namespace
}  // namespace kbench::engine
