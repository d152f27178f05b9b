#include "client/report/environment_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/time/time.h"
#include "client/version.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

std::string DateText(long seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(seconds),
                          absl::UTCTimeZone());
}

std::string ClockText(const RoiModel& model) {
  double low = 0;
  double high = 0;
  for (const Result* row : model.evidence.AllRows()) {
    const double clock = row->telemetry().sm_clock_hertz();
    if (!(clock > 0)) continue;
    low = low == 0 ? clock : std::min(low, clock);
    high = std::max(high, clock);
  }
  if (low == 0) return "not known";
  if (high - low < 1e6) return fmt::format("{:.0f} MHz", high / 1e6);
  return fmt::format("{:.0f} to {:.0f} MHz, mean of each row", low / 1e6, high / 1e6);
}

}  // namespace

std::string DeviceText(const Evidence& evidence) {
  const std::string& name = evidence.environment.device_name();
  return name.empty() ? evidence.device : name;
}

std::string WhenText(const Evidence& evidence) {
  long first = 0;
  long last = 0;
  for (const Result* row : evidence.AllRows()) {
    const long at = row->create_time().seconds();
    if (at <= 0) continue;
    first = first == 0 ? at : std::min(first, at);
    last = std::max(last, at);
  }
  if (first == 0) return "";
  const std::string begin = DateText(first);
  const std::string end = DateText(last);
  return begin == end ? begin : begin + " to " + end;
}

ReportSection EnvironmentSection(const RoiModel& model, const RoiSource& source) {
  ReportSection section{"Environment", "environment", {}};
  const auto& environment = model.evidence.environment;
  ReportTable table{{"what", "value"}, {}, {}};
  const auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) table.rows.push_back({what, value});
  };
  add("device", DeviceText(model.evidence) + " (" + model.evidence.device + ")");
  add("UUID", environment.device_uuid());
  add("host", environment.hostname());
  add("driver", environment.driver());
  add("clock", ClockText(model));
  std::map<std::string, std::set<std::string>> settings;
  std::map<std::string, std::set<std::string>> libraries;  // rows of several runners
  for (const Result* row : model.evidence.AllRows()) {
    for (const auto& [name, version] : row->environment().libraries()) {
      libraries[name].insert(version);
    }
    for (const auto& [name, value] : row->environment().settings()) settings[name].insert(value);
  }
  for (const auto& [name, values] : settings) {
    if (values.size() == 1) add(name, *values.begin());  // others are those of a row
  }
  for (const auto& [name, versions] : libraries)
    add(name, fmt::format("{}", fmt::join(versions, ", ")));
  add("kbench", environment.kbench_version());
  add("engine", environment.engine_version());
  add("measured", WhenText(model.evidence));
  add("report by", std::string("kbench-client ") + kClientVersion);
  section.blocks.emplace_back(std::move(table));
  section.blocks.emplace_back(Paragraph{"Measured again by:"});
  section.blocks.emplace_back(CodeBlock{source.again});
  if (!source.same.empty()) {
    section.blocks.emplace_back(Paragraph{"The same page from the same results:"});
    section.blocks.emplace_back(CodeBlock{source.same});
  }
  return section;
}

}  // namespace kbench::client
