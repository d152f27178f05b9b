#include "proto/support/cpu_list.h"

#include <charconv>
#include <set>
#include <sstream>

namespace kbench {
namespace {

constexpr int kMaxCpu = 65535;

bool ParseCpu(const std::string& text, int* cpu) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *cpu);
  return error == std::errc() && stop == end && *cpu >= 0 && *cpu <= kMaxCpu;
}

}  // namespace

absl::StatusOr<std::vector<int>> ParseCpuList(const std::string& text) {
  std::set<int> cpus;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    const std::size_t dash = part.find('-', 1);
    int first = 0;
    int last = 0;
    const bool valid = dash == std::string::npos
                           ? ParseCpu(part, &first) && ParseCpu(part, &last)
                           : ParseCpu(part.substr(0, dash), &first) &&
                                 ParseCpu(part.substr(dash + 1), &last) && first <= last;
    if (!valid) {
      return absl::InvalidArgumentError("'" + text +
                                        "' is not a list of CPUs: write it like 0-3 or 0,2,4-7");
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  if (cpus.empty()) {
    return absl::InvalidArgumentError("the list of CPUs is empty: write it like 0-3 or 0,2,4-7");
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

std::string FormatCpuList(const std::vector<int>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ascending[i]);
    if (last > i) text += '-' + std::to_string(ascending[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace kbench
