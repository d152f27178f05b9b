#include "worker/device/gpu_monitor.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/mutex.h"
#include "worker/device/gpu_faults.h"
#include "worker/device/gpu_sample.h"
#include "worker/device/process_owner.h"

namespace kbench {
namespace {

constexpr double kCallDeadlineSeconds = 2;
constexpr double kSampleSeconds = 0.05;
constexpr double kUsersSeconds = 0.5;  // what others do is asked for at most this often
// The driver averages the utilisation of processes over up to a second.
constexpr double kLeastUtilizationSeconds = 1;
// The energy counter moves every 20 to 100 ms.
constexpr double kLeastEnergySeconds = 0.1;
// A reason that took less of the window than this changes no median.
constexpr double kCountedThrottleShare = 0.005;

class GpuMonitor final : public DeviceMonitor {
 public:
  GpuMonitor(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board, nvmlDevice_t slice,
             std::shared_ptr<DeadlineThread> thread, std::string kernel_driver)
      : nvml_(std::move(nvml)),
        board_(board),
        slice_(slice),
        calls_(std::move(thread)),
        kernel_driver_(std::move(kernel_driver)),
        files_tell_(FilesAgree()),
        faults_(nvml_, board) {
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
    const auto sample = Call<GpuSample>(TakeGpuSample);
    RefreshUsers(kUsersSeconds);
    v1::Telemetry telemetry;
    if (!sample) return telemetry;
    AddSamples({*sample}, &telemetry);
    AddUsers(&telemetry);
    return telemetry;
  }

  v1::DeviceTotals Totals() override {
    v1::DeviceTotals totals;
    const auto counters = Call<GpuCounters>(ReadGpuCounters);
    if (!counters) return totals;
    totals.mutable_throttle_seconds()->insert(counters->throttle_seconds.begin(),
                                              counters->throttle_seconds.end());
    totals.set_energy_joules(std::max(0.0, counters->energy_joules));
    return totals;
  }

  void Begin() override {
    RefreshUsers(kUsersSeconds);
    // Before the counters: their call ends after every look at the users that was begun.
    *in_burst_ = true;
    auto counters = Call<GpuCounters>(ReadGpuCounters);
    MutexLock lock(mutex_);
    counters_ = std::move(counters);
    began_ = SystemClock().SteadySeconds();
    samples_.clear();
    active_ = true;
    wake_.NotifyAll();
  }

  v1::Telemetry End() override {
    // A last sample for bursts shorter than the sampler's step.
    const auto last = Call<GpuSample>(TakeGpuSample);
    const auto counters = Call<GpuCounters>(ReadGpuCounters);
    *in_burst_ = false;
    std::vector<GpuSample> samples;
    std::optional<GpuCounters> before;
    double seconds = 0;
    {
      MutexLock lock(mutex_);
      active_ = false;
      samples = std::move(samples_);
      samples_.clear();
      before = counters_;
      seconds = SystemClock().SteadySeconds() - began_;
    }
    if (last) samples.push_back(*last);
    RefreshUsers(kUsersSeconds);
    v1::Telemetry telemetry;
    if (samples.empty()) return telemetry;
    AddSamples(samples, &telemetry);
    if (before && counters) AddCounters(*before, *counters, seconds, &telemetry);
    AddUsers(&telemetry);
    return telemetry;
  }

  std::vector<ObservedFault> NewFaults() override { return faults_.Take(); }

  DriverState Driver(std::string* message) override {
    const DriverVersions versions = ReadDriverVersions(nvml_->path, kernel_driver_);
    const auto error = AskMemory();
    const bool refused = error && *error == NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    // What a new process would find: this one may still hold the library that fits.
    const bool by_files = files_tell_ && versions.known();
    if (by_files ? versions.kernel != versions.library : refused) {
      *message = MismatchMessage(versions);
      return DriverState::kMismatch;
    }
    return refused ? DriverState::kStale : DriverState::kFine;
  }

  absl::Status Check() override {
    const auto error = AskMemory();
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

  std::vector<ForeignProcess> Foreign() override {
    RefreshUsers(0);
    return LastForeign();
  }

  std::vector<ForeignProcess> LastForeign() override {
    std::vector<ForeignProcess> foreign;
    MutexLock lock(mutex_);
    const Strangers strangers = FindStrangers();
    for (const GpuProcess& process : strangers.processes) {
      const ProcessOwner& owner = owners_[process.pid];
      foreign.push_back({static_cast<int>(process.pid), owner.user, owner.command,
                         UtilizationOf(process.pid), process.memory_bytes});
    }
    // Their number is known, not who they are.
    foreign.resize(static_cast<std::size_t>(strangers.count));
    return foreign;
  }

 private:
  struct Strangers {
    int count = 0;
    std::vector<GpuProcess> processes;  // empty when they cannot be told from ours
  };

  template <typename T>
  std::optional<T> Call(T (*read)(const Nvml&, nvmlDevice_t)) {
    return calls_->Get<T>([read, nvml = nvml_, board = board_] { return read(*nvml, board); },
                          kCallDeadlineSeconds);
  }

  // The library works by now: files that say otherwise name their versions in another way.
  bool FilesAgree() const {
    const DriverVersions versions = ReadDriverVersions(nvml_->path, kernel_driver_);
    return versions.known() && versions.kernel == versions.library;
  }

  // A call that only a sound driver answers.
  std::optional<nvmlReturn_t> AskMemory() {
    return calls_->Get<nvmlReturn_t>(
        [nvml = nvml_, board = board_] {
          nvmlMemory_t memory{};
          return nvml->MemoryInfo(board, &memory);
        },
        kCallDeadlineSeconds);
  }

  void RefreshUsers(double most_age_seconds) {
    const double now = SystemClock().SteadySeconds();
    double window = kLeastUtilizationSeconds;
    {
      MutexLock lock(mutex_);
      if (users_at_ > 0 && now - users_at_ < most_age_seconds) return;
      if (users_at_ > 0) window = std::max(window, std::min(now - users_at_, 10.0));
    }
    const auto since = static_cast<unsigned long long>(SystemClock().WallMicros()) -
                       static_cast<unsigned long long>(window * 1e6);
    auto users = calls_->Get<std::optional<GpuUsers>>(
        [nvml = nvml_, board = board_, slice = slice_, since,
         in_burst = in_burst_]() -> std::optional<GpuUsers> {
          if (*in_burst) return std::nullopt;
          return ReadGpuUsers(*nvml, board, slice, since);
        },
        kCallDeadlineSeconds);
    if (users && !*users) return;  // a burst runs: what was seen last stands
    std::map<unsigned, ProcessOwner> owners;
    if (users) {
      for (const GpuProcess& process : (*users)->processes) {
        owners[process.pid] = OwnerOf(static_cast<int>(process.pid));
      }
    }
    MutexLock lock(mutex_);
    users_at_ = now;
    users_ = users ? *std::move(*users) : GpuUsers();
    owners_ = std::move(owners);
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
      const auto sample = Call<GpuSample>(TakeGpuSample);
      mutex_.Lock();
      if (sample && active_) samples_.push_back(*sample);
    }
  }

  // Processes that are not ours, nor were: the driver lists a killed process for a while. In a
  // container the driver lists pids of the host, none of which is ours by number: then the surplus
  // over our own count is foreign, and nobody can say which they are.
  Strangers FindStrangers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Strangers strangers;
    for (const GpuProcess& process : users_.processes) {
      if (past_.count(process.pid) == 0) strangers.processes.push_back(process);
    }
    const std::size_t listed = users_.processes.size();
    const bool anonymous = strangers.processes.size() == listed && !own_.empty();
    strangers.count = static_cast<int>(strangers.processes.size());
    if (anonymous) {
      strangers.count = std::max(0, static_cast<int>(listed) - static_cast<int>(own_.size()));
      strangers.processes.clear();
    }
    return strangers;
  }

  double UtilizationOf(unsigned pid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!users_.utilization_known) return -1;
    const auto found = users_.utilization.find(pid);
    return found == users_.utilization.end() ? 0 : found->second;
  }

  void AddUsers(v1::Telemetry* telemetry) {
    MutexLock lock(mutex_);
    const Strangers strangers = FindStrangers();
    telemetry->set_foreign_processes(strangers.count);
    telemetry->set_busy_mig_siblings(users_.busy_siblings);
    double total = 0;
    for (const GpuProcess& process : strangers.processes) {
      const double share = UtilizationOf(process.pid);
      total = share < 0 || total < 0 ? -1 : total + share;
    }
    if (strangers.count > 0 && strangers.processes.empty()) total = -1;
    telemetry->set_foreign_utilization(std::min(total, 1.0));
  }

  static void AddSamples(const std::vector<GpuSample>& samples, v1::Telemetry* telemetry) {
    const auto n = static_cast<double>(samples.size());
    unsigned long long reasons = 0;
    for (const GpuSample& sample : samples) {
      telemetry->set_sm_clock_hertz(telemetry->sm_clock_hertz() + sample.sm_hertz / n);
      telemetry->set_memory_clock_hertz(telemetry->memory_clock_hertz() + sample.memory_hertz / n);
      telemetry->set_power_watts(telemetry->power_watts() + sample.watts / n);
      telemetry->set_temperature_celsius(
          std::max(telemetry->temperature_celsius(), sample.celsius));
      reasons |= sample.reasons;
    }
    telemetry->set_sm_clock_low_hertz(telemetry->sm_clock_hertz());
    telemetry->set_sm_clock_high_hertz(telemetry->sm_clock_hertz());
    for (const std::string& reason : ReasonNames(reasons)) telemetry->add_throttle_reasons(reason);
  }

  // A sampled bit misses short events; the counters do not.
  static void AddCounters(const GpuCounters& before, const GpuCounters& now, double seconds,
                          v1::Telemetry* telemetry) {
    for (const auto& [reason, total] : now.throttle_seconds) {
      const auto old = before.throttle_seconds.find(reason);
      if (old == before.throttle_seconds.end() || total <= old->second) continue;
      const double spent = total - old->second;
      (*telemetry->mutable_throttle_seconds())[reason] = spent;
      const auto& known = telemetry->throttle_reasons();
      if (spent >= kCountedThrottleShare * seconds &&
          std::find(known.begin(), known.end(), reason) == known.end()) {
        telemetry->add_throttle_reasons(reason);
      }
    }
    if (before.ecc_errors >= 0 && now.ecc_errors > before.ecc_errors) {
      telemetry->set_ecc_errors(static_cast<std::int64_t>(now.ecc_errors - before.ecc_errors));
    }
    if (before.energy_joules >= 0 && seconds >= kLeastEnergySeconds &&
        now.energy_joules > before.energy_joules) {
      telemetry->set_energy_joules(now.energy_joules - before.energy_joules);
    }
  }

  const std::shared_ptr<const Nvml> nvml_;
  const nvmlDevice_t board_;
  const nvmlDevice_t slice_;
  const std::shared_ptr<DeadlineThread> calls_;
  const std::string kernel_driver_;
  const bool files_tell_;
  GpuFaults faults_;
  Mutex mutex_;
  CondVar wake_;
  bool active_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  double began_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<GpuCounters> counters_ ABSL_GUARDED_BY(mutex_);  // at Begin()
  std::vector<GpuSample> samples_ ABSL_GUARDED_BY(mutex_);
  // Shared with the calls, which a sick driver may let outlive this object.
  const std::shared_ptr<std::atomic<bool>> in_burst_ = std::make_shared<std::atomic<bool>>(false);
  GpuUsers users_ ABSL_GUARDED_BY(mutex_);
  std::map<unsigned, ProcessOwner> owners_ ABSL_GUARDED_BY(mutex_);  // of users_
  double users_at_ ABSL_GUARDED_BY(mutex_) = 0;                      // 0: never asked
  std::set<unsigned> own_ ABSL_GUARDED_BY(mutex_);
  std::set<unsigned> past_ ABSL_GUARDED_BY(mutex_);  // all that were ever ours
  std::thread sampler_;
};

}  // namespace

std::unique_ptr<DeviceMonitor> MakeGpuMonitor(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board,
                                              nvmlDevice_t slice,
                                              std::shared_ptr<DeadlineThread> thread,
                                              const std::string& kernel_driver) {
  return std::make_unique<GpuMonitor>(std::move(nvml), board, slice, std::move(thread),
                                      kernel_driver);
}

}  // namespace kbench
