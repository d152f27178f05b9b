#include "worker/engine/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace kbench::engine {
namespace {

constexpr std::int64_t kNone = -1;

// A file that holds one number; kNone for "max", for a missing file and for v1's "no limit".
std::int64_t ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = kNone;
  if (!(file >> value) || value > (std::int64_t{1} << 60)) return kNone;
  return value;
}

// "MemAvailable:   123 kB" or "inactive_file 123".
std::int64_t ReadField(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string key, unit;
    std::int64_t value = kNone;
    if (!(fields >> key >> value) || key != name) continue;
    return fields >> unit && unit == "kB" ? value * 1024 : value;
  }
  return kNone;
}

// This process's group below the v2 hierarchy or v1's memory controller.
std::string GroupPath(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : controllers == "memory") return line.substr(second + 1);
  }
  return "";
}

struct Limit {
  std::int64_t most = kNone;
  std::int64_t free = kNone;
};

// A page of cached files that nobody uses is given back when memory is asked for.
Limit GroupLimit(const std::string& dir, const char* max, const char* current,
                 const std::string& inactive) {
  Limit limit;
  limit.most = ReadNumber(dir + "/" + max);
  const std::int64_t used = ReadNumber(dir + "/" + current);
  if (limit.most == kNone || used == kNone) return {};
  const std::int64_t cache = std::max<std::int64_t>(0, ReadField(dir + "/memory.stat", inactive));
  limit.free = std::max<std::int64_t>(0, limit.most - used + std::min(cache, used));
  return limit;
}

void Tighten(const Limit& limit, HostMemory* memory) {
  if (limit.most == kNone) return;
  memory->total_bytes = std::min(memory->total_bytes, limit.most);
  memory->free_bytes = std::min(memory->free_bytes, limit.free);
}

// The limit of every group from ours up to the root counts.
void WalkUp(const std::string& base, std::string path, const char* max, const char* current,
            const std::string& inactive, HostMemory* memory) {
  while (true) {
    Tighten(GroupLimit(base + path, max, current, inactive), memory);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty()) return;
    path.resize(slash);
  }
}

}  // namespace

HostMemory ReadHostMemory(const std::string& root) {
  HostMemory memory;
  memory.total_bytes = ReadField(root + "/proc/meminfo", "MemTotal:");
  memory.free_bytes = ReadField(root + "/proc/meminfo", "MemAvailable:");
  if (memory.total_bytes < 0) memory.total_bytes = std::numeric_limits<std::int64_t>::max();
  if (memory.free_bytes < 0) memory.free_bytes = memory.total_bytes;
  WalkUp(root + "/sys/fs/cgroup", GroupPath(root, true), "memory.max", "memory.current",
         "inactive_file", &memory);
  WalkUp(root + "/sys/fs/cgroup/memory", GroupPath(root, false), "memory.limit_in_bytes",
         "memory.usage_in_bytes", "total_inactive_file", &memory);
  return memory;
}

}  // namespace kbench::engine
