#include "worker/device/cpu_device.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "proto/support/cpu_list.h"

namespace kbench {
namespace {

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  // Room for 8192 CPUs: sched_getaffinity fails when the kernel's mask is larger than ours.
  constexpr int kMost = 8192;
  cpu_set_t* set = CPU_ALLOC(kMost);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMost);
  CPU_ZERO_S(bytes, set);
  if (sched_getaffinity(0, bytes, set) == 0) {
    for (int cpu = 0; cpu < kMost; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  return cpus;
}

// The value of the first "key : value" line, or empty.
std::string CpuinfoField(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) return "";
    return line.substr(colon + 2);
  }
  return "";
}

std::int64_t MeminfoBytes(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  std::string unit;
  while (file >> name >> kib) {
    std::getline(file, unit);
    if (name == key + ":") return kib * 1024;
  }
  return 0;
}

// The level of the x86-64 psABI that the flags reach.
std::string Architecture() {
#if defined(__x86_64__)
  std::istringstream words(CpuinfoField("flags"));
  std::set<std::string> flags;
  std::string word;
  while (words >> word) flags.insert(word);
  const auto has = [&](std::initializer_list<const char*> wanted) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const char* flag) { return flags.count(flag) > 0; });
  };
  if (has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "x86-64-v4";
  if (has({"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"})) return "x86-64-v3";
  if (has({"cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"})) return "x86-64-v2";
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

// Size of the largest cache of the first CPU in bytes, 0 when /sys does not tell.
std::int64_t LastLevelCacheBytes(int cpu) {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" +
                       std::to_string(index) + "/size");
    std::int64_t size = 0;
    char unit = 0;
    if (!(file >> size)) continue;
    file >> unit;
    if (unit == 'K') size <<= 10;
    if (unit == 'M') size <<= 20;
    largest = std::max(largest, size);
  }
  return largest;
}

v1::Device Identity(const std::vector<int>& cpus) {
  v1::Device device;
  device.set_kind("cpu");
  const std::string model = CpuinfoField("model name");
  device.set_model(model.empty() ? "CPU" : model);
  device.set_architecture(Architecture());
  device.set_memory_bytes(MeminfoBytes("MemTotal"));
  device.set_l2_bytes(LastLevelCacheBytes(cpus.front()));
  device.set_cores(static_cast<int>(cpus.size()));
  auto& settings = *device.mutable_settings();
  settings["cpus"] = FormatCpuList(cpus);
  settings["threads"] = std::to_string(cpus.size());
  std::ifstream governor("/sys/devices/system/cpu/cpu" + std::to_string(cpus.front()) +
                         "/cpufreq/scaling_governor");
  std::string name;
  if (governor >> name) settings["governor"] = name;
  return device;
}

}  // namespace

std::int64_t AvailableHostMemory() { return MeminfoBytes("MemAvailable"); }

absl::StatusOr<OpenedDevice> OpenCpu(const std::string& list) {
  const std::vector<int> allowed = AllowedCpus();
  std::vector<int> cpus = allowed;
  if (!list.empty()) {
    auto parsed = ParseCpuList(list);
    if (!parsed.ok()) return parsed.status();
    cpus = *std::move(parsed);
    for (const int cpu : cpus) {
      if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
        return absl::InvalidArgumentError("there is no CPU " + std::to_string(cpu) +
                                          " for this process: it may use " +
                                          FormatCpuList(allowed));
      }
    }
  }
  if (cpus.empty()) return absl::InternalError("sched_getaffinity names no CPU");
  OpenedDevice opened;
  opened.facts.device = Identity(cpus);
  opened.facts.default_name = "cpu";
  opened.facts.key = "cpu:" + FormatCpuList(cpus);
  // One lock a CPU: two workers may share a machine, never a core.
  for (const int cpu : cpus) opened.facts.lock_keys.push_back("cpu" + std::to_string(cpu));
  opened.facts.cpus = cpus;
  opened.monitor = MakeCpuMonitor(cpus);
  return opened;
}

}  // namespace kbench
