#include "worker/daemon/kept_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kbench {
namespace {

namespace fs = std::filesystem;
using Bytes = std::map<std::string, std::int64_t>;

class KeptBytesTest : public testing::Test {
 protected:
  void SetUp() override {
    Write("spool/a.result", 100);
    Write("spool/b.damaged", 20);
    Write("cache/triton/deep/kernel", 3000);
    Write("tuning.json", 7);
  }
  void TearDown() override { fs::remove_all(dir_); }
  void Write(const std::string& name, std::size_t bytes) {
    const fs::path path = fs::path(dir_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }
  const std::string dir_ = testing::TempDir() + "/kept-" + std::to_string(getpid());
  KeptBytes kept_{{{"spool", dir_ + "/spool"},
                   {"caches", dir_ + "/cache"},
                   {"tuning", dir_ + "/tuning.json"},
                   {"scratch", dir_ + "/none"}}};
};

TEST_F(KeptBytesTest, CountsFilesAndFoldersByKind) {
  Bytes bytes = kept_.Get(1, true);
  bytes.erase("logs");
  EXPECT_EQ(bytes, (Bytes{{"spool", 120}, {"caches", 3000}, {"tuning", 7}, {"scratch", 0}}));
}

TEST_F(KeptBytesTest, LooksOnceAMinuteAndNotWhileACaseRuns) {
  EXPECT_TRUE(kept_.Get(1, false).empty()) << "not looked at yet";
  EXPECT_EQ(kept_.Get(2, true).at("spool"), 120);
  Write("spool/c.result", 1000);
  EXPECT_EQ(kept_.Get(61, true).at("spool"), 120);
  EXPECT_EQ(kept_.Get(100, false).at("spool"), 120);
  EXPECT_EQ(kept_.Get(101, true).at("spool"), 1120);
}

TEST_F(KeptBytesTest, TheLogIsStandardErrorWhereThatIsAFile) {
  const int kept = dup(STDERR_FILENO);
  const int file = open((dir_ + "/log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(write(file, "0123456789", 10), 10);
  dup2(file, STDERR_FILENO);
  const std::int64_t of_file = OwnLogBytes();
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(null, STDERR_FILENO);
  const std::int64_t of_device = OwnLogBytes();
  dup2(kept, STDERR_FILENO);
  for (const int fd : {kept, file, null}) close(fd);
  EXPECT_EQ(of_file, 10);
  EXPECT_EQ(of_device, 0);
}

}  // namespace
}  // namespace kbench
