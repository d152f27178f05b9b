#include "worker/daemon/tuning_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kbench {
namespace {

class TuningStoreTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(dir_); }

  const std::string dir_ = testing::TempDir() + "/tuning-" + std::to_string(getpid());
  const std::string path_ = dir_ + "/deep/gpu0.json";
};

TEST_F(TuningStoreTest, SurvivesARestart) {
  TuningStore first(path_, "gpu");
  EXPECT_EQ(first.Find("matmul fp16 4096 \"x\"", "build 1"), "");
  ASSERT_TRUE(first.Put("matmul fp16 4096 \"x\"", "build 1", "128x256").ok());
  ASSERT_TRUE(first.Put("matmul fp16 8192", "build 1", "256x128").ok());
  ASSERT_TRUE(first.Put("matmul fp16 8192", "build 1", "64x64").ok());
  const TuningStore second(path_, "gpu");
  EXPECT_EQ(second.Find("matmul fp16 4096 \"x\"", "build 1"), "128x256");
  EXPECT_EQ(second.Find("matmul fp16 8192", "build 1"), "64x64");
}

TEST_F(TuningStoreTest, AnotherBuildOrDeviceKnowsNothing) {
  TuningStore store(path_, "gpu");
  ASSERT_TRUE(store.Put("cell", "build 1", "a").ok());
  EXPECT_EQ(store.Find("cell", "build 2"), "");
  EXPECT_EQ(TuningStore(path_, "gpu, new driver").Find("cell", "build 1"), "");
  ASSERT_TRUE(store.Put("cell", "build 2", "b").ok());
  EXPECT_EQ(store.Find("cell", "build 1"), "") << "one choice a cell";
  EXPECT_EQ(store.Find("cell", "build 2"), "b");
}

TEST_F(TuningStoreTest, ForgetsOnRequest) {
  TuningStore store(path_, "gpu");
  EXPECT_TRUE(store.Forget().ok()) << "nothing to forget is forgotten";
  ASSERT_TRUE(store.Put("cell", "build", "a").ok());
  EXPECT_TRUE(store.Forget().ok());
  EXPECT_EQ(store.Find("cell", "build"), "");
  EXPECT_EQ(TuningStore(path_, "gpu").Find("cell", "build"), "");
}

TEST_F(TuningStoreTest, ForgetsOneCell) {
  TuningStore store(path_, "gpu");
  ASSERT_TRUE(store.Put("cell", "build", "a").ok());
  ASSERT_TRUE(store.Put("other", "build", "b").ok());
  EXPECT_TRUE(store.Forget("unknown").ok());
  EXPECT_TRUE(store.Forget("cell").ok());
  const TuningStore again(path_, "gpu");
  EXPECT_EQ(again.Find("cell", "build"), "");
  EXPECT_EQ(again.Find("other", "build"), "b");
}

TEST_F(TuningStoreTest, AFileThatIsNoneIsEmpty) {
  std::filesystem::create_directories(dir_ + "/deep");
  for (const char* text : {"", "{", "[]", R"({"device":"gpu","choices":7})",
                           R"({"device":"gpu","choices":[7,{"cell":1}]})"}) {
    std::ofstream(path_) << text;
    EXPECT_EQ(TuningStore(path_, "gpu").Find("cell", "build"), "") << text;
  }
}

TEST_F(TuningStoreTest, WhatCannotBeWrittenIsAnErrorWithThePath) {
  std::filesystem::create_directories(dir_);
  std::ofstream(dir_ + "/deep") << "a file where a folder should be";
  TuningStore store(path_, "gpu");
  const absl::Status status = store.Put("cell", "build", "a");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("deep"), std::string::npos) << status;
  EXPECT_EQ(store.Find("cell", "build"), "a") << "known as long as the worker lives";
}

}  // namespace
}  // namespace kbench
