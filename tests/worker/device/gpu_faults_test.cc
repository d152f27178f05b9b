// Xid and ECC events: which are faults of the device, and drivers that report none.
#include "worker/device/gpu_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace kbench {
namespace {

// What the device reports until it is silent: at most 5 s, less once `count` are there.
std::vector<std::string> Reported(const std::string& device, std::size_t count) {
  const auto opened = OpenDevice(device, KBENCH_FAKE_NVML);
  EXPECT_TRUE(opened.ok()) << opened.status();
  std::vector<std::string> all;
  for (int i = 0; i < 500 && all.size() < count; ++i) {
    for (const ObservedFault& fault : opened->monitor->NewFaults()) {
      all.push_back(fault.kind + ": " + fault.message);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(opened->monitor->NewFaults().empty()) << "each is told once";
  return all;
}

class GpuFaultsTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("FAKE_NVML");
    unsetenv("FAKE_XIDS");
  }
};

TEST_F(GpuFaultsTest, HardwareIsTakenApplicationsAndTheUnknownAreNot) {
  setenv("FAKE_XIDS", "13 31 43 45 109 79 ecc 48", 1);
  EXPECT_THAT(Reported("0", 3),
              testing::ElementsAre("XID: Xid 79: the GPU has fallen off the bus",
                                   "ECC: the device's memory lost data: an uncorrectable ECC error",
                                   "XID: Xid 48: an uncorrectable error of the device's memory"));
}

TEST_F(GpuFaultsTest, ACardWithoutEccTellsItsXids) {
  setenv("FAKE_XIDS", "ecc 79", 1);
  EXPECT_EQ(Reported("1", 1).size(), 1u);
}

TEST_F(GpuFaultsTest, ADeviceThatReportsNoEventsIsWell) {
  setenv("FAKE_XIDS", "79", 1);
  setenv("FAKE_NVML", "noevents", 1);
  const auto opened = OpenDevice("0", KBENCH_FAKE_NVML);
  ASSERT_TRUE(opened.ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(opened->monitor->NewFaults().empty());
}

TEST_F(GpuFaultsTest, ADriverWithoutTheFunctionsIsWell) {
  auto nvml = std::make_shared<Nvml>();  // an old one: all of them null
  GpuFaults faults(nvml, nullptr);
  EXPECT_TRUE(faults.Take().empty());
}

TEST(Xids, AreDividedAsTheirCatalogueSays) {
  for (const int xid : {48, 63, 64, 74, 79, 94, 95}) {
    EXPECT_EQ(KindOfXid(static_cast<unsigned>(xid)), XidKind::kHardware) << xid;
  }
  for (const int xid : {13, 31, 43, 45}) {
    EXPECT_EQ(KindOfXid(static_cast<unsigned>(xid)), XidKind::kApplication) << xid;
  }
  EXPECT_EQ(KindOfXid(999), XidKind::kOther);
  EXPECT_EQ(XidText(999), "Xid 999");
}

}  // namespace
}  // namespace kbench
