// Versions of the driver in the kernel and of its library, and what a running worker makes of them.
#include "worker/device/driver_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "worker/device/device.h"

namespace kbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DriverVersionsTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/driver-" + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override {
    unsetenv("FAKE_NVML");
    std::filesystem::remove_all(dir_);
  }

  std::string Kernel(const std::string& line) {
    std::ofstream(dir_ + "/version") << line << "\nGCC version:  gcc version 12.2.0\n";
    return dir_ + "/version";
  }
  std::string KernelOf(const std::string& version) {
    return Kernel("NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version +
                  "  Sun Jul 27 07:17:27 UTC 2025");
  }
  // The library as an installation has it: a link to the file of a version.
  std::string Library(const std::string& version) {
    const std::string file = dir_ + "/libnvidia-ml.so." + version;
    if (!std::filesystem::exists(file)) std::filesystem::copy_file(KBENCH_FAKE_NVML, file);
    const std::string link = dir_ + "/libnvidia-ml.so.1";
    std::filesystem::remove(link);
    std::filesystem::create_symlink(file, link);
    return link;
  }

  std::string dir_;
};

TEST_F(DriverVersionsTest, AreReadFromTheKernelAndTheFilesName) {
  const DriverVersions both = ReadDriverVersions(Library("580.65.06"), KernelOf("570.172.08"));
  EXPECT_EQ(both.kernel, "570.172.08");
  EXPECT_EQ(both.library, "580.65.06");
  EXPECT_EQ(ReadDriverVersions("", Kernel("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64 "
                                          " 575.57.08  Release Build  (root@host)"))
                .kernel,
            "575.57.08");
  EXPECT_THAT(MismatchMessage(both),
              AllOf(HasSubstr("the kernel has version 570.172.08"),
                    HasSubstr("the library is 580.65.06"), HasSubstr("restart the machine")));
}

TEST_F(DriverVersionsTest, WhatSaysNoVersionIsUnknown) {
  EXPECT_FALSE(ReadDriverVersions(KBENCH_FAKE_NVML, Kernel("no driver")).known());
  EXPECT_EQ(ReadDriverVersions(Library("1x"), "/nonexistent").library, "");
  EXPECT_EQ(ReadDriverVersions("/nonexistent/libnvidia-ml.so.1", Kernel("")).kernel, "");
  EXPECT_THAT(MismatchMessage({"", "580.1"}), HasSubstr("the kernel has version another"));
}

TEST_F(DriverVersionsTest, AMismatchAtTheStartIsToldFromOtherErrors) {
  setenv("FAKE_NVML", "mismatch", 1);
  const auto opened = OpenDevice("0", Library("580.1"), KernelOf("570.2"));
  ASSERT_TRUE(IsDriverMismatch(opened.status())) << opened.status();
  EXPECT_THAT(std::string(opened.status().message()),
              AllOf(HasSubstr("570.2"), HasSubstr("580.1")));
  setenv("FAKE_NVML", "noinit", 1);
  EXPECT_FALSE(IsDriverMismatch(OpenDevice("0", KBENCH_FAKE_NVML).status()));
  EXPECT_FALSE(IsDriverMismatch(OpenDevice("0", "libthat-is-not-there.so").status()));
}

TEST_F(DriverVersionsTest, AnUpgradeUnderARunningWorkerIsSeenAndItsEndToo) {
  const auto opened = OpenDevice("0", Library("580.1"), KernelOf("580.1"));
  ASSERT_TRUE(opened.ok()) << opened.status();
  DeviceMonitor& monitor = *opened->monitor;
  std::string message;
  EXPECT_EQ(monitor.Driver(&message), DriverState::kFine);
  Library("590.2");  // the library this process holds still answers; new ones would not
  EXPECT_EQ(monitor.Driver(&message), DriverState::kMismatch);
  EXPECT_THAT(message, AllOf(HasSubstr("580.1"), HasSubstr("590.2")));
  KernelOf("590.2");  // the module was loaded anew: only this process has an old library
  setenv("FAKE_NVML", "mismatch", 1);
  EXPECT_EQ(monitor.Driver(&message), DriverState::kStale);
  unsetenv("FAKE_NVML");
  EXPECT_EQ(monitor.Driver(&message), DriverState::kFine);
}

TEST_F(DriverVersionsTest, WithoutFilesThatTellTheLibraryItselfIsBelieved) {
  const auto opened = OpenDevice("0", KBENCH_FAKE_NVML, "/nonexistent");
  ASSERT_TRUE(opened.ok());
  std::string message;
  EXPECT_EQ(opened->monitor->Driver(&message), DriverState::kFine);
  setenv("FAKE_NVML", "mismatch", 1);
  EXPECT_EQ(opened->monitor->Driver(&message), DriverState::kMismatch);
  // Files that differ though the library works name their versions in another way.
  unsetenv("FAKE_NVML");
  const auto odd = OpenDevice("0", Library("580.1"), KernelOf("580.1.7"));
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->monitor->Driver(&message), DriverState::kFine);
}

}  // namespace
}  // namespace kbench
