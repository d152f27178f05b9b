#include "worker/daemon/spool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kbench {
namespace {

class SpoolTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/spool-" + std::to_string(getpid());
    std::filesystem::remove_all(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  static v1::AttemptResult Result(const std::string& job, std::int64_t epoch) {
    v1::AttemptResult result;
    result.mutable_id()->set_job(job);
    result.mutable_id()->set_attempt(1);
    result.mutable_id()->set_epoch(epoch);
    result.add_results()->set_implementation("cpu/naive");
    return result;
  }
  std::string dir_;
};

TEST_F(SpoolTest, SurvivesARestartUntilAcknowledged) {
  {
    const auto spool = Spool::Open(dir_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    ASSERT_TRUE((*spool)->Put(Result("jobs/b", 2)).ok());
    ASSERT_TRUE((*spool)->Put(Result("jobs/a", 1)).ok());
  }
  const auto spool = Spool::Open(dir_);
  const auto results = (*spool)->List();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].id().job(), "jobs/a") << "oldest epoch first";
  EXPECT_EQ(results[1].results(0).implementation(), "cpu/naive");
  EXPECT_EQ((*spool)->Load(results[1].id())->id().epoch(), 2);
  (*spool)->Remove(results[0].id());
  EXPECT_EQ((*spool)->List().size(), 1u);
  EXPECT_FALSE((*spool)->Load(results[0].id()).ok());
}

TEST_F(SpoolTest, HalfWrittenFilesAreRemovedDamagedOnesSetAside) {
  std::filesystem::create_directories(dir_);
  std::ofstream(dir_ + "/a-0-1-1.result.tmp") << "half";
  std::ofstream(dir_ + "/b-0-1-1.result") << "\xff\xff\xff not a result";
  const auto spool = Spool::Open(dir_);
  EXPECT_TRUE((*spool)->List().empty());
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/a-0-1-1.result.tmp"));
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/b-0-1-1.result.damaged"));
}

TEST_F(SpoolTest, AJobNameCannotLeaveTheFolder) {
  const auto spool = Spool::Open(dir_ + "/inner");
  ASSERT_TRUE((*spool)->Put(Result("jobs/../../escape", 1)).ok());
  EXPECT_EQ((*spool)->List().size(), 1u);
  for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
    EXPECT_EQ(entry.path().filename(), "inner");
  }
}

TEST_F(SpoolTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(dir_) << "a file";
  EXPECT_FALSE(Spool::Open(dir_ + "/spool").ok());
}

TEST_F(SpoolTest, WhatIsTooMuchIsKeptWithoutItsArtifacts) {
  const auto spool = Spool::Open(dir_, 10'000);
  ASSERT_TRUE(spool.ok());
  for (int i = 1; i <= 3; ++i) {
    v1::AttemptResult result = Result("jobs/a", i);
    result.mutable_results(0)->add_artifacts("samples.json");
    v1::Artifact& artifact = *result.add_artifacts();
    artifact.set_name("samples.json");
    artifact.set_content(std::string(4000, 'x'));
    ASSERT_TRUE((*spool)->Put(result).ok());
  }
  const auto results = (*spool)->List();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[1].artifacts_size(), 1);
  EXPECT_EQ(results[2].artifacts_size(), 0);
  EXPECT_EQ(results[2].results_size(), 1) << "the result itself is not given up";
  EXPECT_EQ(results[2].results(0).artifacts_size(), 0) << "nor does it name what is not there";
}

}  // namespace
}  // namespace kbench
