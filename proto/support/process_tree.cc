#include "proto/support/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "proto/support/clock.h"

namespace kbench {
namespace {

struct Entry {
  pid_t pid = 0;
  pid_t parent = 0;
  bool zombie = false;
};

// "pid (command) S ppid ...": the command may hold anything.
bool ReadEntry(pid_t pid, Entry* entry) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos || end + 4 > text.size()) return false;
  *entry = {pid, static_cast<pid_t>(std::atoi(text.c_str() + end + 4)), text[end + 2] == 'Z'};
  return true;
}

std::vector<Entry> AllProcesses() {
  std::vector<Entry> all;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return all;
  while (const dirent* item = readdir(directory)) {
    if (std::isdigit(static_cast<unsigned char>(item->d_name[0])) == 0) continue;
    Entry entry;
    if (ReadEntry(static_cast<pid_t>(std::atoi(item->d_name)), &entry)) all.push_back(entry);
  }
  closedir(directory);
  return all;
}

// Those below `root`, not through `spare`; the dead that nobody has reaped lead to nobody.
std::vector<pid_t> Below(pid_t root, const std::vector<pid_t>& spare) {
  std::multimap<pid_t, Entry> children;
  for (const Entry& entry : AllProcesses()) children.emplace(entry.parent, entry);
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [begin, end] = children.equal_range(parent);
    for (auto it = begin; it != end; ++it) {
      const pid_t pid = it->second.pid;
      if (std::find(spare.begin(), spare.end(), pid) != spare.end()) continue;
      if (!it->second.zombie) found.push_back(pid);
      open.push_back(pid);
    }
  }
  return found;
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) { return Below(root, {}); }

void KillDescendants(pid_t root, double seconds, const std::vector<pid_t>& spare) {
  constexpr useconds_t kPauseMicros = 5000;
  const double end = SystemClock().SteadySeconds() + seconds;
  while (true) {
    const std::vector<pid_t> left = Below(root, spare);
    if (left.empty()) return;
    for (const pid_t pid : left) kill(pid, SIGKILL);
    if (SystemClock().SteadySeconds() >= end) return;
    usleep(kPauseMicros);
  }
}

}  // namespace kbench
