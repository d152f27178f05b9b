#include "worker/profile/ncu_table.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace kbench::profile {
namespace {

constexpr std::string_view kHeader = "\"ID\",";
constexpr char kNameColumn[] = "Kernel Name";
constexpr std::size_t kMostComplaint = 200;

// The next line of `text`, without its end; `text` goes on behind it.
std::string_view TakeLine(std::string_view* text) {
  const std::size_t end = text->find('\n');
  std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// Fields between commas, in quotes where they hold some; a doubled quote stands for one.
std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) {
        fields.back() += '"';
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// How many base units one of these is: ncu scales by itself unless it is told not to.
double Scale(const std::string& unit) {
  static const std::map<std::string, double> scales = {
      {"ns", 1e-9},   {"nsecond", 1e-9}, {"us", 1e-6},   {"usecond", 1e-6},
      {"ms", 1e-3},   {"msecond", 1e-3}, {"s", 1},       {"second", 1},
      {"Kbyte", 1e3}, {"Mbyte", 1e6},    {"Gbyte", 1e9}, {"Tbyte", 1e12}};
  const auto found = scales.find(unit);
  return found == scales.end() ? 1 : found->second;
}

// "1,234.5" -> 1234.5. Nothing for "n/a", "nan" and text.
std::optional<double> Number(std::string field) {
  field.erase(std::remove(field.begin(), field.end(), ','), field.end());
  double value = 0;
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// ncu shortens names by what stands before the last "::" and leaves half of a namespace that has
// none: "void unnamed>::SumKernel<...>".
std::string WithoutHalfNamespace(std::string name) {
  constexpr std::string_view kHalf = "unnamed>::";
  const std::size_t at = name.find(kHalf);
  if (at != std::string::npos && (at == 0 || name[at - 1] != '<')) name.erase(at, kHalf.size());
  return name;
}

// Lines of ncu's own: "==ERROR== ...".
std::vector<std::string_view> Marked(std::string_view text, std::string_view mark) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    if (line.substr(0, mark.size()) == mark) lines.push_back(line.substr(mark.size()));
  }
  return lines;
}

}  // namespace

double KernelRow::Value(const std::string& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? 0 : found->second;
}

std::vector<KernelRow> ParseTable(std::string_view text) {
  std::vector<std::string> header;
  while (!text.empty() && header.empty()) {
    const std::string_view line = TakeLine(&text);
    if (line.substr(0, kHeader.size()) == kHeader) header = Fields(line);
  }
  const std::vector<std::string> units = Fields(TakeLine(&text));
  const auto name_column = std::find(header.begin(), header.end(), kNameColumn) - header.begin();
  std::vector<KernelRow> rows;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const std::vector<std::string> fields = Fields(line);
    if (line.substr(0, 1) != "\"" || fields.size() != header.size()) continue;
    KernelRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (static_cast<std::ptrdiff_t>(i) == name_column) row.name = WithoutHalfNamespace(fields[i]);
      // A metric's name has an underscore pair; the other columns describe the launch.
      if (header[i].find("__") == std::string::npos) continue;
      const std::optional<double> value = Number(fields[i]);
      if (value) row.metrics[header[i]] = *value * (i < units.size() ? Scale(units[i]) : 1);
    }
  }
  return rows;
}

std::vector<std::string> UnknownMetrics(std::string_view text) {
  std::vector<std::string> unknown;
  std::vector<std::string_view> lines = Marked(text, "==ERROR== ");
  for (const std::string_view warning : Marked(text, "==WARNING== ")) lines.push_back(warning);
  for (std::string_view line : lines) {
    if (line.find("metric") == std::string_view::npos) continue;
    for (std::size_t at = line.find("__"); at != std::string_view::npos; at = line.find("__", at)) {
      const auto is_part = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
      };
      std::size_t begin = at;
      while (begin > 0 && is_part(line[begin - 1])) --begin;
      while (at < line.size() && is_part(line[at])) ++at;
      std::string name(line.substr(begin, at - begin));
      while (!name.empty() && name.back() == '.') name.pop_back();  // of the sentence
      unknown.push_back(std::move(name));
    }
  }
  return unknown;
}

std::string Complaint(std::string_view text) {
  if (text.find("ERR_NVGPUCTRPERM") != std::string_view::npos) {
    return "the driver lets only root read the GPU's performance counters "
           "(NVreg_RestrictProfilingToAdminUsers=0 allows everybody)";
  }
  if (text.find("InterprocessLockFailed") != std::string_view::npos) {
    return "another user's Nsight Compute left a lock file in the folder of temporary files";
  }
  const std::vector<std::string_view> errors = Marked(text, "==ERROR== ");
  if (errors.empty()) return "";
  std::string plain(errors.front().substr(0, kMostComplaint));
  std::replace_if(
      plain.begin(), plain.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return "ncu says: " + plain;
}

}  // namespace kbench::profile
