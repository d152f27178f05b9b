// What `ncu --csv --page raw` prints, as numbers. Pure functions. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kbench::profile {

// One launch of a device function.
struct KernelRow {
  std::string name;
  // By the profiler's names, in base units: seconds, bytes, per cent. What it could not measure is
  // not there.
  std::map<std::string, double> metrics;

  // 0 where it is not there.
  double Value(const std::string& metric) const;
};

// The rows of the table, wherever in the text it begins. Empty where there is none.
std::vector<KernelRow> ParseTable(std::string_view text);

// Metrics that this ncu does not know, by its complaints.
std::vector<std::string> UnknownMetrics(std::string_view text);

// Why ncu measured nothing, by what it printed: one plain sentence, empty where it does not say.
std::string Complaint(std::string_view text);

}  // namespace kbench::profile
