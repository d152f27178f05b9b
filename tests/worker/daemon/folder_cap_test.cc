#include "worker/daemon/folder_cap.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace kbench {
namespace {

namespace fs = std::filesystem;

class FolderCapTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(dir_); }
  void TearDown() override { fs::remove_all(dir_); }
  void Write(const std::string& name, std::size_t bytes, int age_hours) {
    const fs::path path = fs::path(dir_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(age_hours));
  }
  bool Exists(const std::string& name) { return fs::exists(fs::path(dir_) / name); }
  const std::string dir_ = testing::TempDir() + "/cap-" + std::to_string(getpid());
};

TEST_F(FolderCapTest, WhatWasUsedTheLongestAgoGoesAsAWhole) {
  Write("old/a", 100, 50);
  Write("old/deep/b", 100, 40);
  Write("mixed/a", 100, 60);
  Write("mixed/b", 100, 1);  // used just now
  Write("file", 100, 10);
  EXPECT_EQ(CapFolder(dir_, 500), 500);
  EXPECT_TRUE(Exists("old/a"));
  EXPECT_EQ(CapFolder(dir_, 499), 300);
  EXPECT_FALSE(Exists("old"));
  EXPECT_EQ(CapFolder(dir_, 200), 200);
  EXPECT_FALSE(Exists("file"));
  EXPECT_TRUE(Exists("mixed/a"));
  EXPECT_EQ(CapFolder(dir_, 0), 0);
}

TEST_F(FolderCapTest, NoFolderIsNoBytesAndALinkIsNotFollowed) {
  EXPECT_EQ(CapFolder(dir_ + "/none", 5), 0);
  Write("in/a", 10, 1);
  const std::string other = dir_ + "-other";
  fs::create_directories(other);
  std::ofstream(other + "/precious") << "x";
  fs::create_symlink(other, fs::path(dir_) / "link");
  EXPECT_EQ(CapFolder(dir_, 0), 0);
  EXPECT_TRUE(fs::exists(other + "/precious"));
  fs::remove_all(other);
}

}  // namespace
}  // namespace kbench
