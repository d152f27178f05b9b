#include "proto/support/paths.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "proto/support/error.h"

namespace kbench {
namespace {

TEST(NormalizeAddress, AcceptsSocketsAndPorts) {
  EXPECT_EQ(*NormalizeAddress("unix:/run/k.sock"), "unix:/run/k.sock");
  EXPECT_EQ(*NormalizeAddress("unix:///run/k.sock"), "unix:/run/k.sock");
  EXPECT_EQ(*NormalizeAddress("/run/k.sock"), "unix:/run/k.sock");
  EXPECT_EQ(*NormalizeAddress("127.0.0.1:7600"), "127.0.0.1:7600");
  EXPECT_EQ(*NormalizeAddress("[::1]:0"), "[::1]:0");
}

TEST(NormalizeAddress, NamesWhatIsWrong) {
  for (const char* bad : {"", "host", "host:", ":7600", "host:70000", "host:12x", "host:-1"}) {
    const auto address = NormalizeAddress(bad);
    ASSERT_FALSE(address.ok()) << bad;
    EXPECT_EQ(DetailsOf(address.status()).reason, "BAD_ADDRESS");
  }
  EXPECT_TRUE(NormalizeAddress("/" + std::string(106, 'a')).ok());
  const auto longer = NormalizeAddress("/" + std::string(107, 'a'));
  ASSERT_FALSE(longer.ok());
  EXPECT_NE(MessageOf(longer.status()).find("108 bytes"), std::string::npos);
}

TEST(IsLoopback, OnlyThisMachine) {
  for (const char* yes : {"unix:/x", "127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(IsLoopback(yes)) << yes;
  }
  for (const char* no : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "127.example.org:1", "lab:7600"}) {
    EXPECT_FALSE(IsLoopback(no)) << no;
  }
}

TEST(RuntimeDir, FollowsXdgAndFallsBack) {
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  EXPECT_EQ(DefaultSocketPath(), "/run/user/7/kbench/kbench.sock");
  setenv("XDG_RUNTIME_DIR", "relative", 1);
  setenv("TMPDIR", "/scratch", 1);
  EXPECT_EQ(RuntimeDir(), "/scratch/kbench-" + std::to_string(getuid())) << "not absolute: ignored";
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(RuntimeDir(), "/scratch/kbench-" + std::to_string(getuid()));
  unsetenv("TMPDIR");
  EXPECT_EQ(RuntimeDir(), "/tmp/kbench-" + std::to_string(getuid()));
}

TEST(XdgDirs, ARelativeOneIsIgnored) {
  setenv("HOME", "/home/user", 1);
  setenv("XDG_STATE_HOME", "state", 1);
  EXPECT_EQ(DataDir(), "/home/user/.local/state/kbench");
  setenv("XDG_STATE_HOME", "/var/state", 1);
  EXPECT_EQ(DataDir(), "/var/state/kbench");
  unsetenv("XDG_STATE_HOME");
}

TEST(EnsureWritableDir, TakesABareName) {
  std::string base = testing::TempDir() + "/paths-XXXXXX";
  ASSERT_NE(mkdtemp(base.data()), nullptr);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(base);
  const absl::Status status = EnsureWritableDir("d2");
  std::filesystem::current_path(before);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(std::filesystem::is_directory(base + "/d2"));
  std::filesystem::remove_all(base);
}

TEST(EnsureWritableDir, CreatesParentsPrivately) {
  std::string base = testing::TempDir() + "/paths-XXXXXX";
  ASSERT_NE(mkdtemp(base.data()), nullptr);
  ASSERT_TRUE(EnsureWritableDir(base + "/a/b").ok());
  const auto mode = std::filesystem::status(base + "/a/b").permissions();
  EXPECT_EQ(mode & std::filesystem::perms::others_all, std::filesystem::perms::none);
  ASSERT_TRUE(EnsureWritableDir(base + "/a/b").ok()) << "again";
  std::ofstream(base + "/file") << "x";
  for (const std::string& bad :
       {base + "/file", base + "/file/below", std::string("/proc/kbench")}) {
    const absl::Status status = EnsureWritableDir(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << bad;
    EXPECT_NE(MessageOf(status).find(bad), std::string::npos);
  }
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace kbench
