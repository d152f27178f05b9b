#include "worker/engine/scheduler_watch.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace kbench::engine {
namespace {

constexpr double kTolerated = 0.005;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The second field of a thread's schedstat: nanoseconds spent waiting for a core. -1 when the
// kernel keeps no such statistics.
double RunDelaySeconds() {
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  if (!tasks) return -1;
  double total = -1;
  while (const dirent* entry = readdir(tasks.get())) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/schedstat");
    double running = 0, waiting = 0;
    if (file >> running >> waiting) total = (total < 0 ? 0 : total) + waiting * 1e-9;
  }
  return total;
}

// The steal column of /proc/stat over the cores in our affinity mask.
double StealSeconds() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 0;
  std::ifstream file("/proc/stat");
  double ticks = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("cpu", 0) != 0) break;
    std::istringstream fields(line.substr(3));
    int core = -1;
    if (line[3] == ' ' || !(fields >> core) || core >= CPU_SETSIZE) continue;
    if (!CPU_ISSET(core, &allowed)) continue;
    double column = 0;
    for (int i = 0; i < 8 && fields >> column; ++i) {
      if (i == 7) ticks += column;
    }
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

SchedulerWatch::Snapshot SchedulerWatch::Take() {
  Snapshot now;
  now.valid = true;
  now.time = SteadySeconds();
  now.run_delay = RunDelaySeconds();
  now.steal = StealSeconds();
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) now.switches = usage.ru_nivcsw;
  return now;
}

bool SchedulerWatch::Stolen() {
  const Snapshot now = Take();
  const Snapshot before = last_;
  last_ = now;
  if (!before.valid) return false;
  const double tolerated = kTolerated * (now.time - before.time);
  if (now.steal - before.steal > tolerated) return true;
  if (now.run_delay >= 0 && before.run_delay >= 0) {
    return now.run_delay - before.run_delay > tolerated;
  }
  return now.switches > before.switches;
}

}  // namespace kbench::engine
