#include "worker/device/gpu_monitor.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "proto/support/mutex.h"

namespace kbench {
namespace {

constexpr double kCallDeadlineSeconds = 2;
constexpr double kSampleSeconds = 0.05;

struct Sample {
  double sm_hertz = 0;
  double memory_hertz = 0;
  double celsius = 0;
  double watts = 0;
  unsigned long long reasons = 0;
  std::vector<unsigned> processes;
};

Sample Take(const Nvml& nvml, nvmlDevice_t board) {
  Sample sample;
  unsigned value = 0;
  if (nvml.ClockInfo != nullptr) {
    if (nvml.ClockInfo(board, NVML_CLOCK_SM, &value) == NVML_SUCCESS) sample.sm_hertz = value * 1e6;
    if (nvml.ClockInfo(board, NVML_CLOCK_MEM, &value) == NVML_SUCCESS) {
      sample.memory_hertz = value * 1e6;
    }
  }
  if (nvml.Temperature != nullptr &&
      nvml.Temperature(board, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS) {
    sample.celsius = value;
  }
  if (nvml.PowerUsage != nullptr && nvml.PowerUsage(board, &value) == NVML_SUCCESS) {
    sample.watts = value * 1e-3;
  }
  if (nvml.EventReasons != nullptr) nvml.EventReasons(board, &sample.reasons);
  if (nvml.ComputeProcesses != nullptr) {
    std::vector<nvmlProcessInfo_t> infos(64);
    auto count = static_cast<unsigned>(infos.size());
    if (nvml.ComputeProcesses(board, &count, infos.data()) == NVML_SUCCESS) {
      for (unsigned i = 0; i < count; ++i) sample.processes.push_back(infos[i].pid);
    }
  }
  return sample;
}

std::vector<std::string> ReasonNames(unsigned long long bits) {
  // nvml.h marks some of these macros as signed.
  const std::pair<unsigned long long, const char*> names[] = {
      {nvmlClocksEventReasonSwPowerCap, "POWER_CAP"},
      {nvmlClocksEventReasonSwThermalSlowdown, "SW_THERMAL"},
      {nvmlClocksThrottleReasonHwThermalSlowdown, "HW_THERMAL"},
      {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "POWER_BRAKE"},
      {nvmlClocksEventReasonApplicationsClocksSetting, "APPLICATION_CLOCKS"},
      {nvmlClocksEventReasonSyncBoost, "SYNC_BOOST"},
  };
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : names) {
    if ((bits & bit) != 0) reasons.push_back(name);
  }
  return reasons;
}

class GpuMonitor final : public DeviceMonitor {
 public:
  GpuMonitor(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board,
             std::shared_ptr<DeadlineThread> thread)
      : nvml_(std::move(nvml)), board_(board), calls_(std::move(thread)) {
    sampler_ = std::thread([this] { SampleLoop(); });
  }
  ~GpuMonitor() override {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      wake_.NotifyAll();
    }
    sampler_.join();
  }

  v1::Telemetry Now() override {
    const auto sample = TakeWithDeadline();
    return sample ? Summary({*sample}) : v1::Telemetry();
  }
  void Begin() override {
    MutexLock lock(mutex_);
    samples_.clear();
    active_ = true;
    wake_.NotifyAll();
  }
  v1::Telemetry End() override {
    // A last sample for bursts shorter than the sampler's step.
    const auto last = TakeWithDeadline();
    std::vector<Sample> samples;
    {
      MutexLock lock(mutex_);
      active_ = false;
      samples = std::move(samples_);
      samples_.clear();
    }
    if (last) samples.push_back(*last);
    return Summary(samples);
  }
  absl::Status Check() override {
    const auto error = calls_->Get<nvmlReturn_t>(
        [nvml = nvml_, board = board_] {
          nvmlMemory_t memory{};
          return nvml->MemoryInfo(board, &memory);
        },
        kCallDeadlineSeconds);
    if (!error) return absl::UnavailableError("the NVIDIA driver does not answer");
    if (*error != NVML_SUCCESS) {
      return absl::UnavailableError(std::string("the GPU does not answer: ") +
                                    nvml_->ErrorString(*error));
    }
    return absl::OkStatus();
  }
  void SetOwnProcesses(const std::vector<int>& pids) override {
    MutexLock lock(mutex_);
    own_ = std::set<unsigned>(pids.begin(), pids.end());
    past_.insert(own_.begin(), own_.end());
  }

 private:
  std::optional<Sample> TakeWithDeadline() {
    return calls_->Get<Sample>([nvml = nvml_, board = board_] { return Take(*nvml, board); },
                               kCallDeadlineSeconds);
  }

  void SampleLoop() {
    MutexLock lock(mutex_);
    while (!stop_) {
      if (!active_) {
        wake_.Wait(mutex_);
        continue;
      }
      wake_.WaitFor(mutex_, kSampleSeconds);
      if (!active_ || stop_) continue;
      mutex_.Unlock();
      const auto sample = TakeWithDeadline();
      mutex_.Lock();
      if (sample && active_) samples_.push_back(*sample);
    }
  }

  // Processes that are not ours, nor were: the driver lists a killed process for a while. In a
  // container the driver lists pids of the host, none of which is ours by number: then the surplus
  // over our own count is foreign.
  int Foreign(const std::vector<unsigned>& pids) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int known = 0;
    for (const unsigned pid : pids) known += static_cast<int>(past_.count(pid));
    const int listed = static_cast<int>(pids.size());
    return known > 0 ? listed - known : std::max(0, listed - static_cast<int>(own_.size()));
  }

  v1::Telemetry Summary(const std::vector<Sample>& samples) {
    v1::Telemetry telemetry;
    if (samples.empty()) return telemetry;
    const auto n = static_cast<double>(samples.size());
    unsigned long long reasons = 0;
    MutexLock lock(mutex_);
    for (const Sample& sample : samples) {
      telemetry.set_sm_clock_hertz(telemetry.sm_clock_hertz() + sample.sm_hertz / n);
      telemetry.set_memory_clock_hertz(telemetry.memory_clock_hertz() + sample.memory_hertz / n);
      telemetry.set_power_watts(telemetry.power_watts() + sample.watts / n);
      telemetry.set_temperature_celsius(std::max(telemetry.temperature_celsius(), sample.celsius));
      telemetry.set_foreign_processes(
          std::max(telemetry.foreign_processes(), Foreign(sample.processes)));
      reasons |= sample.reasons;
    }
    for (const std::string& reason : ReasonNames(reasons)) telemetry.add_throttle_reasons(reason);
    return telemetry;
  }

  const std::shared_ptr<const Nvml> nvml_;
  const nvmlDevice_t board_;
  const std::shared_ptr<DeadlineThread> calls_;
  Mutex mutex_;
  CondVar wake_;
  bool active_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Sample> samples_ ABSL_GUARDED_BY(mutex_);
  std::set<unsigned> own_ ABSL_GUARDED_BY(mutex_);
  std::set<unsigned> past_ ABSL_GUARDED_BY(mutex_);  // all that were ever ours
  std::thread sampler_;
};

}  // namespace

std::unique_ptr<DeviceMonitor> MakeGpuMonitor(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board,
                                              std::shared_ptr<DeadlineThread> thread) {
  return std::make_unique<GpuMonitor>(std::move(nvml), board, std::move(thread));
}

}  // namespace kbench
