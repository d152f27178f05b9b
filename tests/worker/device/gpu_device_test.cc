#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "worker/device/device.h"
#include "worker/device/process_owner.h"

namespace kbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GpuDevice : public testing::Test {
 protected:
  void TearDown() override { unsetenv("FAKE_NVML"); }
  static absl::StatusOr<OpenedDevice> Open(const std::string& spec) {
    return OpenDevice(spec, KBENCH_FAKE_NVML);
  }
};

TEST_F(GpuDevice, IdentityByIndex) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const DeviceFacts& facts = opened->facts;
  EXPECT_EQ(facts.device.model(), "NVIDIA H200");
  EXPECT_EQ(facts.device.uuid(), "GPU-00000000-aaaa");
  EXPECT_EQ(facts.device.architecture(), "sm_90");
  EXPECT_EQ(facts.device.driver(), "580.1");
  EXPECT_EQ(facts.device.memory_bytes(), 141ll << 30);
  EXPECT_EQ(facts.device.cores(), 132);
  EXPECT_EQ(facts.device.peak_flops().at("fp16"), 989e12);
  EXPECT_EQ(facts.device.settings().at("power_limit_watts"), "700");
  EXPECT_EQ(facts.device.settings().at("ecc"), "on");
  EXPECT_EQ(facts.device.settings().at("application_clocks"), "1755/3201 MHz");
  EXPECT_EQ(facts.device.settings().count("mig_profile"), 0u);
  EXPECT_EQ(facts.default_name, "gpu0");
  EXPECT_EQ(facts.runner_env.at("CUDA_VISIBLE_DEVICES"), "GPU-00000000-aaaa");
  EXPECT_FALSE(facts.cpus.empty());
  EXPECT_FALSE(facts.exclusive);
}

TEST_F(GpuDevice, UnknownModelHasNoInventedPeaks) {
  const auto opened = Open("GPU-11111111-bbbb");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->facts.device.peak_flops().empty());
  EXPECT_EQ(opened->facts.device.peak_bandwidth(), 0);
  EXPECT_TRUE(opened->facts.exclusive);
}

TEST_F(GpuDevice, ErrorsNameWhatExists) {
  for (const char* spec : {"7", "GPU-99999999-zzzz"}) {
    const auto opened = Open(spec);
    ASSERT_FALSE(opened.ok());
    const std::string message(opened.status().message());
    EXPECT_THAT(message, HasSubstr(std::string("no GPU ") + spec));
    EXPECT_THAT(message, HasSubstr("0: NVIDIA H200, GPU-00000000-aaaa"));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST_F(GpuDevice, NoDriverSaysWhatToDo) {
  const auto opened = OpenDevice("0", "libnvidia-ml-that-is-not-there.so");
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("--device cpu"));
  setenv("FAKE_NVML", "noinit", 1);
  EXPECT_THAT(std::string(Open("0").status().message()), HasSubstr("Driver Not Loaded"));
}

TEST_F(GpuDevice, UnknownSpecIsRefused) {
  for (const char* spec : {"", "gpu0", "-1", "cpux", "0x1", "99999"}) {
    EXPECT_EQ(OpenDevice(spec).status().code(), absl::StatusCode::kInvalidArgument) << spec;
  }
}

TEST_F(GpuDevice, TelemetryCountsForeignProcesses) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  DeviceMonitor& monitor = *opened->monitor;
  monitor.SetOwnProcesses({100});
  monitor.Begin();
  const auto telemetry = monitor.End();
  EXPECT_EQ(telemetry.sm_clock_hertz(), 1980e6);
  EXPECT_EQ(telemetry.memory_clock_hertz(), 3201e6);
  EXPECT_EQ(telemetry.temperature_celsius(), 41);
  EXPECT_EQ(telemetry.power_watts(), 250);
  EXPECT_THAT(telemetry.throttle_reasons(), ElementsAre("POWER_CAP"));
  EXPECT_EQ(telemetry.foreign_processes(), 1);
  monitor.SetOwnProcesses({200});
  EXPECT_EQ(monitor.Now().foreign_processes(), 0) << "100 was ours; the driver forgets slowly";
}

TEST_F(GpuDevice, CountersTellThrottlingEnergyAndMemoryErrors) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  DeviceMonitor& monitor = *opened->monitor;
  monitor.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  const auto telemetry = monitor.End();
  EXPECT_NEAR(telemetry.throttle_seconds().at("POWER_CAP"), 0.03, 1e-9);
  EXPECT_EQ(telemetry.throttle_seconds().size(), 1u) << "reasons that took no time are left out";
  EXPECT_NEAR(telemetry.energy_joules(), 50, 1e-9);
  EXPECT_EQ(telemetry.ecc_errors(), 1);
  EXPECT_EQ(telemetry.sm_clock_low_hertz(), 1980e6);
  EXPECT_EQ(telemetry.sm_clock_high_hertz(), 1980e6);
  monitor.Begin();
  EXPECT_EQ(monitor.End().energy_joules(), 0) << "too short a window for the counter";
}

TEST_F(GpuDevice, AShortSlowdownThatNoSampleSawIsAReason) {
  setenv("FAKE_NVML", "brief", 1);
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  opened->monitor->Begin();
  const auto telemetry = opened->monitor->End();
  EXPECT_THAT(telemetry.throttle_reasons(), ElementsAre("POWER_CAP", "HW_THERMAL"));
  EXPECT_NEAR(telemetry.throttle_seconds().at("HW_THERMAL"), 0.02, 1e-9);
}

TEST_F(GpuDevice, AnOldDriverSaysLessAndNothingIsInvented) {
  setenv("FAKE_NVML", "olddriver", 1);
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  DeviceMonitor& monitor = *opened->monitor;
  monitor.SetOwnProcesses({100});
  monitor.Begin();
  const auto telemetry = monitor.End();
  EXPECT_NEAR(telemetry.throttle_seconds().at("SW_THERMAL"), 0.007, 1e-9)
      << "the counter of the whole thermal policy stands in";
  EXPECT_EQ(telemetry.foreign_utilization(), -1);
  ASSERT_EQ(monitor.Foreign().size(), 1u);
  EXPECT_EQ(monitor.Foreign()[0].utilization, -1);
}

TEST_F(GpuDevice, ForeignWorkIsJudgedByItsUtilisation) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  DeviceMonitor& monitor = *opened->monitor;
  monitor.SetOwnProcesses({100});
  ASSERT_EQ(monitor.Foreign().size(), 1u);
  EXPECT_EQ(monitor.Foreign()[0].utilization, 0) << "an idle notebook";
  setenv("FAKE_NVML", "busy", 1);
  const auto foreign = monitor.Foreign();
  ASSERT_EQ(foreign.size(), 1u);
  EXPECT_EQ(foreign[0].pid, 200);
  EXPECT_NEAR(foreign[0].utilization, 0.37, 1e-9);
  EXPECT_EQ(foreign[0].memory_bytes, 12ll << 30);
  EXPECT_NEAR(monitor.Now().foreign_utilization(), 0.37, 1e-9) << "our own 90 % do not count";
}

TEST_F(GpuDevice, NobodyIsAskedForWhileABurstRuns) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  DeviceMonitor& monitor = *opened->monitor;
  EXPECT_TRUE(monitor.LastForeign().empty()) << "nobody has looked yet";
  monitor.SetOwnProcesses({100});
  monitor.Begin();
  ASSERT_EQ(monitor.LastForeign().size(), 1u);
  EXPECT_EQ(monitor.LastForeign()[0].utilization, 0);
  setenv("FAKE_NVML", "busy", 1);
  // Past the age at which a look is repeated: a heartbeat in the middle of a long burst.
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(monitor.Now().foreign_utilization(), 0);
  EXPECT_EQ(monitor.Foreign()[0].utilization, 0);
  EXPECT_NEAR(monitor.End().foreign_utilization(), 0.37, 1e-9);
  ASSERT_EQ(monitor.LastForeign().size(), 1u);
  EXPECT_NEAR(monitor.LastForeign()[0].utilization, 0.37, 1e-9);
}

TEST_F(GpuDevice, MemoryThatTheDriverDoesNotTellIsUnknown) {
  const auto opened = Open("MIG-33333333-dddd");
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->monitor->Foreign().size(), 1u);
  EXPECT_EQ(opened->monitor->Foreign()[0].pid, 300);
  EXPECT_EQ(opened->monitor->Foreign()[0].memory_bytes, 0);
}

TEST_F(GpuDevice, ASliceSeesItsOwnProcessesAndItsBusySiblings) {
  const auto opened = Open("MIG-22222222-cccc");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->facts.device.peak_flops().empty()) << "a share of the board is no datasheet";
  EXPECT_EQ(opened->facts.device.settings().at("mig_profile"), "1/2 slices, 16 SMs, 33280 MiB");
  DeviceMonitor& monitor = *opened->monitor;
  monitor.SetOwnProcesses({100});
  const auto telemetry = monitor.Now();
  EXPECT_EQ(telemetry.foreign_processes(), 0);
  EXPECT_EQ(telemetry.busy_mig_siblings(), 1);
  EXPECT_EQ(Open("GPU-00000000-aaaa")->monitor->Now().busy_mig_siblings(), 0);
}

TEST(ProcessOwner, NamesUserAndCommand) {
  const ProcessOwner owner = OwnerOf(getpid());
  EXPECT_THAT(owner.command, HasSubstr("worker_device"));
  EXPECT_FALSE(owner.user.empty());
  EXPECT_TRUE(OwnerOf(0).user.empty());
  EXPECT_TRUE(OwnerOf(getpid(), "/nonexistent").command.empty());
  const std::string proc = testing::TempDir() + "/proc-" + std::to_string(getpid());
  std::filesystem::create_directories(proc + "/7");
  std::ofstream(proc + "/7/comm") << "py\xff\x1b[2J\n";
  EXPECT_EQ(OwnerOf(7, proc).command, "py??[2J") << "no message and no terminal takes it as it is";
  std::filesystem::remove_all(proc);
}

TEST_F(GpuDevice, ProcessIdsOfAnotherNamespaceAreCountedOnly) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  DeviceMonitor& monitor = *opened->monitor;
  // Process ids of another namespace: two listed, two of ours.
  monitor.SetOwnProcesses({1, 2});
  EXPECT_EQ(monitor.Now().foreign_processes(), 0);
  monitor.SetOwnProcesses({1});
  EXPECT_EQ(monitor.Now().foreign_processes(), 1);
}

TEST_F(GpuDevice, HeatIsReported) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  DeviceMonitor& monitor = *opened->monitor;
  setenv("FAKE_NVML", "hot", 1);
  EXPECT_THAT(monitor.Now().throttle_reasons(), ElementsAre("HW_THERMAL"));
}

TEST_F(GpuDevice, ASickDriverCostsADeadlineNotTheWorker) {
  const auto opened = Open("0");
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened->monitor->Check().ok());
  setenv("FAKE_NVML", "lost", 1);
  EXPECT_THAT(std::string(opened->monitor->Check().message()), HasSubstr("GPU is lost"));
  setenv("FAKE_NVML", "hang", 1);
  EXPECT_THAT(std::string(opened->monitor->Check().message()), HasSubstr("does not answer"));
}

}  // namespace
}  // namespace kbench
