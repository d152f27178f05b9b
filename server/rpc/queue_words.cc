#include "server/rpc/queue_words.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "fmt/format.h"
#include "proto/support/clock.h"

namespace kbench::server {

using kbench::v1::ForeignProcess;

std::string DurationText(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  std::string text;
  if (whole >= 3600) text += fmt::format("{}h", whole / 3600);
  if (whole % 3600 >= 60) text += fmt::format("{}m", whole % 3600 / 60);
  if (whole % 60 > 0 || text.empty()) text += fmt::format("{}s", whole % 60);
  return text;
}

std::string SpanText(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string CaseText(const kbench::v1::JobSpec& spec, int index) {
  if (spec.has_hold()) return "hold " + DurationText(ToSeconds(spec.hold().duration()));
  if (index < 0 || index >= spec.cases_size()) return "";
  const kbench::v1::CaseSpec& item = spec.cases(index);
  std::string text = fmt::format("{} {} {}", item.kernel(), item.dtype(), item.size());
  if (!item.mode().empty() && item.mode() != "cold") text += " " + item.mode();
  return text;
}

std::string WhoText(const ForeignProcess& process) {
  if (process.pid() <= 0) return "a process of another container";
  if (process.user().empty()) return fmt::format("pid {} of another container", process.pid());
  return fmt::format("{} (pid {}, user {})",
                     process.command().empty() ? "a process" : process.command(), process.pid(),
                     process.user());
}

std::string BusyText(const google::protobuf::RepeatedPtrField<ForeignProcess>& foreign,
                     bool unknown) {
  const ForeignProcess* worst = nullptr;
  for (const ForeignProcess& process : foreign) {
    const bool computes = process.utilization() >= kBusyShare;
    if (!computes && !(unknown && process.utilization() < 0)) continue;
    if (worst == nullptr || process.utilization() > worst->utilization()) worst = &process;
  }
  if (worst == nullptr) return "";
  if (worst->utilization() < 0) {
    return WhoText(*worst) + " holds it, and the driver does not tell whether it computes";
  }
  return fmt::format("{} uses {:.0f} % of it", WhoText(*worst), 100 * worst->utilization());
}

std::string PhaseText(const kbench::v1::Progress& progress) {
  static const std::map<std::string, std::string> words = {
      {"wait", "waiting for others on the device"},
      {"prepare", "preparing"},
      {"tune", "tuning"},
      {"verify", "verifying"},
      {"warm", "warming up"},
      {"measure", "measuring"},
      {"check", "checking"},
      {"profile", "profiling"},
      {"finish", "finishing"}};
  const auto known = words.find(progress.phase());
  std::string text = known == words.end() ? "starting" : known->second;
  if (progress.round() > 0) text += fmt::format(", round {}", progress.round());
  if (progress.round() > 0 && progress.max_rounds() > 0) {
    text += fmt::format(" of at most {}", progress.max_rounds());
  }
  return text;
}

std::string FitText(const std::string& reason, const kbench::v1::Device* device) {
  static const std::map<std::string, std::string> words = {
      {"NOT_SELECTED", "the job asks for another device"},
      {"GPU_FIRST", "a job that names no device goes to a GPU where there is one"},
      {"DEVICE_LACKS_KERNEL", "it has no implementation for what is left of the job"},
      {"OTHER_DEVICE", "the job stays on the device where it began, so that its numbers compare"},
      {"OTHER_MODEL", "the job stays on the model it began on, so that its numbers compare"},
      {"DEVICE_OFFLINE", "its worker is not connected"},
      {"DRIVER_MISMATCH", "its driver was upgraded and the machine not restarted"},
      {"DEVICE_NOT_READY", "it is being calibrated or is not fit to measure"},
      {"WORKER_STOPPING", "its worker is stopping"},
      {"DRAINING", "it takes nothing new"},
      {"DRAINED", "it takes nothing new"},
      {"QUARANTINED", "its numbers are not trusted"}};
  const auto known = words.find(reason);
  std::string text = known == words.end() ? "" : known->second;
  if (device == nullptr) return text;
  // The device's own words say more of these.
  std::string more;
  if (reason == "DEVICE_OFFLINE" || reason == "DEVICE_NOT_READY" || reason == "DRIVER_MISMATCH") {
    more = device->state_message();
  }
  const bool kept = device->has_maintenance() && !device->maintenance().reason().empty();
  if (kept && (reason == "DRAINING" || reason == "DRAINED" || reason == "QUARANTINED")) {
    more = device->maintenance().reason();
    if (!device->maintenance().by().empty()) more += ", says " + device->maintenance().by();
  }
  if (more.empty() || more == text) return text;
  return text.empty() ? more : text + ": " + more;
}

}  // namespace kbench::server
