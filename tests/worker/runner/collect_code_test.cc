// From the names of device functions to files: out of this test itself, and of what nvcc wrote.
#include "worker/runner/collect_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CollectCodeTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/collect-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    request_.set_directory(folder_);
    request_.set_architecture("sm_90");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  v1::CodeCollected Collect(const std::string& program, const std::vector<std::string>& functions) {
    v1::CodeCollected collected;
    CollectCode(program, functions, request_, &collected);
    return collected;
  }
  std::string folder_;
  v1::CollectCode request_;
};

TEST_F(CollectCodeTest, AProgramWithoutDeviceCodeSaysSo) {
  const auto collected = Collect("/proc/self/exe", {"_Z1fv"});
  EXPECT_EQ(collected.files_size(), 0);
  EXPECT_EQ(collected.message(), "the program holds no code of _Z1fv for sm_90");
  EXPECT_THAT(Collect(folder_ + "/nothing", {"f"}).message(), HasSubstr("cannot be read"));
  request_.set_architecture("x86-64-v3");
  EXPECT_THAT(Collect("/proc/self/exe", {"f"}).message(), HasSubstr("no architecture of a GPU"));
}

// Code of functions with the same names, as Triton's candidates have them.
TEST_F(CollectCodeTest, CodeThatTheInstanceGivesIsWritten) {
  const DeviceCode one = {"kernel", "cubin", "sm_90", "first"};
  const DeviceCode two = {"kernel", "cubin", "sm_90", "other"};
  v1::CodeCollected named, written, other;
  WriteCode({one}, "", &named);
  EXPECT_EQ(named.files_size(), 0);
  WriteCode({one}, folder_, &written);
  WriteCode({two}, "", &other);
  EXPECT_EQ(written.digest(), named.digest());
  EXPECT_NE(written.digest(), other.digest());
  ASSERT_EQ(written.files_size(), 1);
  EXPECT_EQ(written.files(0).architecture(), "sm_90");
  EXPECT_THAT(written.files(0).functions(), ElementsAre("kernel"));
  std::string content;
  std::ifstream(folder_ + "/" + written.files(0).name()) >> content;
  EXPECT_EQ(content, "first");
}

#ifdef KBENCH_FATBIN_SAMPLE
TEST_F(CollectCodeTest, CubinAndPtxOfTheDevice) {
  const auto collected = Collect(KBENCH_FATBIN_SAMPLE, {"SampleKernel", "NoKernel"});
  ASSERT_EQ(collected.files_size(), 2);
  EXPECT_EQ(collected.files(0).kind(), "cubin");
  EXPECT_EQ(collected.files(0).architecture(), "sm_90a");
  EXPECT_THAT(collected.files(0).functions(), ElementsAre("SampleKernel"));
  EXPECT_EQ(collected.files(1).kind(), "ptx");
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/" + collected.files(0).name()),
            static_cast<std::uintmax_t>(collected.files(0).size_bytes()));
  EXPECT_EQ(collected.message(), "the program holds no code of NoKernel for sm_90");
  request_.set_directory("/nowhere");
  const auto nowhere = Collect(KBENCH_FATBIN_SAMPLE, {"SampleKernel"});
  EXPECT_EQ(nowhere.files_size(), 0);
  EXPECT_THAT(nowhere.message(), HasSubstr("cannot write"));
}
#endif

}  // namespace
}  // namespace kbench
