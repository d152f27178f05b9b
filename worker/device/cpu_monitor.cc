// The CPU's telemetry: steal and the run queue from /proc/stat, the clock from cpufreq where there
// is one. No thread of its own: a burst is not disturbed.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "proto/support/mutex.h"
#include "worker/device/cpu_device.h"

namespace kbench {
namespace {

struct Ticks {
  std::int64_t steal = 0;
  std::int64_t total = 0;
};

struct Stat {
  Ticks ticks;
  int running = 0;
};

class CpuMonitor final : public DeviceMonitor {
 public:
  CpuMonitor(std::vector<int> cpus, std::string proc)
      : cpus_(std::move(cpus)), proc_(std::move(proc)), last_(Read().ticks) {}

  v1::Telemetry Now() override {
    const Stat stat = Read();
    MutexLock lock(mutex_);
    v1::Telemetry telemetry = Since(last_, stat);
    last_ = stat.ticks;
    return telemetry;
  }
  void Begin() override {
    const Stat stat = Read();
    MutexLock lock(mutex_);
    begin_ = stat;
  }
  v1::Telemetry End() override {
    const Stat stat = Read();
    MutexLock lock(mutex_);
    v1::Telemetry telemetry = Since(begin_.ticks, stat);
    // The queue before the burst: during it the runner's own threads stand in it.
    telemetry.set_load(Others(begin_));
    return telemetry;
  }
  absl::Status Check() override { return absl::OkStatus(); }
  void SetOwnProcesses(const std::vector<int>&) override {}

 private:
  static double Others(const Stat& stat) { return std::max(0, stat.running - 1); }

  v1::Telemetry Since(const Ticks& before, const Stat& now) const {
    v1::Telemetry telemetry;
    const auto total = now.ticks.total - before.total;
    if (total > 0) {
      telemetry.set_steal_ratio(static_cast<double>(now.ticks.steal - before.steal) /
                                static_cast<double>(total));
    }
    telemetry.set_load(Others(now));
    telemetry.set_sm_clock_hertz(Clock());
    telemetry.set_sm_clock_low_hertz(telemetry.sm_clock_hertz());
    telemetry.set_sm_clock_high_hertz(telemetry.sm_clock_hertz());
    return telemetry;
  }

  Stat Read() const {
    Stat stat;
    std::ifstream file(proc_ + "/stat");
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      if (name == "procs_running") words >> stat.running;
      if (name.rfind("cpu", 0) != 0 || name == "cpu") continue;
      const int cpu = std::stoi(name.substr(3));
      if (!std::binary_search(cpus_.begin(), cpus_.end(), cpu)) continue;
      // user nice system idle iowait irq softirq steal; guest times are contained in user.
      std::array<std::int64_t, 8> fields{};
      for (std::int64_t& field : fields) {
        words >> field;
        stat.ticks.total += field;
      }
      stat.ticks.steal += fields[7];
    }
    return stat;
  }

  // Mean clock of the first CPU as cpufreq says, 0 where it does not: the nominal clock of
  // /proc/cpuinfo is no measurement.
  double Clock() const {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpus_.front()) +
                       "/cpufreq/scaling_cur_freq");
    double kilohertz = 0;
    return file >> kilohertz ? kilohertz * 1e3 : 0;
  }

  const std::vector<int> cpus_;
  const std::string proc_;
  Mutex mutex_;
  Ticks last_ ABSL_GUARDED_BY(mutex_);
  Stat begin_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<DeviceMonitor> MakeCpuMonitor(std::vector<int> cpus, const std::string& proc) {
  return std::make_unique<CpuMonitor>(std::move(cpus), proc);
}

}  // namespace kbench
