#include "worker/engine/own_threads.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

namespace kbench::engine {
namespace {

constexpr std::chrono::microseconds kPoll{200};

// Ascending; without the caller.
std::vector<int> OtherThreads() {
  std::vector<int> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  if (!tasks) return threads;
  while (const dirent* entry = readdir(tasks.get())) {
    const int id = std::atoi(entry->d_name);
    if (id > 0 && id != gettid()) threads.push_back(id);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

// "R" in the third field of its stat, which follows the name in parentheses.
bool Awake(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] == 'R';
}

void PutOn(int thread, const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  (void)sched_setaffinity(thread, sizeof(set), &set);  // it may have ended meanwhile
}

}  // namespace

OwnThreads::OwnThreads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus_.push_back(cpu);
  }
}

void OwnThreads::Place() {
  if (cpus_.size() < 2) return;
  PutOn(0, {cpus_.front()});
  std::size_t rank = 0;
  for (const int thread : OtherThreads()) {
    const std::size_t place = 1 + rank++ % (cpus_.size() - 1);
    if (placed_.insert(thread).second) PutOn(thread, {cpus_[place]});
  }
}

void OwnThreads::FreeCaller() {
  if (cpus_.size() >= 2) PutOn(0, cpus_);
}

bool OwnThreads::WaitUntilAsleep(double max_seconds) {
  const auto threads = OtherThreads();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(max_seconds);
  while (std::any_of(threads.begin(), threads.end(), Awake)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace kbench::engine
