#include "client/output/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/output/cells.h"
#include "client/output/text_table.h"
#include "client/output/time_range.h"
#include "client/output/units.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::Progress;

std::string WaitText(const Job& job, double now) {
  std::string text = "job " + JobId(job.name()) + " waits";
  const bool held_up = !job.message().empty() || !job.reason().empty();
  if (!held_up) return text + ": " + PlaceText(job, now);
  if (job.queue_position() > 0) {
    text += ": " + FormatCount(job.queue_position(), "case", "cases") + " ahead";
  }
  if (!job.message().empty()) return text + ": " + job.message();
  static const std::map<std::string, std::string> words = {
      {"NO_DEVICE", "no worker has such a device"},
      {"DEVICE_OFFLINE", "its device is offline"},
      {"DEVICE_LACKS_KERNEL", "no device it may run on has an implementation for it"},
      {"DRAINING", "its device is being drained"},
      {"QUARANTINED", "its device is in quarantine"},
      {"DRIVER_MISMATCH", "the driver of its device was upgraded, the machine not restarted"},
      {"DEVICE_NOT_READY", "its device is being calibrated or is not fit to measure"}};
  const auto known = words.find(job.reason());
  return known == words.end() ? text : text + ": " + known->second;
}

std::string PhaseWord(const std::string& phase) {
  static const std::map<std::string, std::string> words = {{"wait", "waiting for the device"},
                                                           {"prepare", "preparing"},
                                                           {"tune", "tuning"},
                                                           {"verify", "verifying"},
                                                           {"warm", "warming up"},
                                                           {"measure", "measuring"},
                                                           {"check", "checking"},
                                                           {"profile", "profiling"},
                                                           {"finish", "finishing"},
                                                           {"hold", "held"}};
  const auto known = words.find(phase);
  return known == words.end() ? phase : known->second;
}

}  // namespace

std::string PlaceText(const Job& job, double now) {
  const std::string ahead = job.queue_position() > 0
                                ? FormatCount(job.queue_position(), "case", "cases") + " ahead"
                                : std::string("next");
  if (!job.start_estimate().has_latest()) return ahead + ", nobody can say when it starts";
  const std::string when = WhenText(job.start_estimate(), now);
  // Whoever is ahead has not begun yet, however short their cases are.
  const bool at_once = when == "now" && job.queue_position() > 0;
  return ahead + ", starts " + (at_once ? "in a moment" : when);
}

std::string PhaseText(const Progress& progress) {
  // The worker's own sentence says more than the word.
  std::string text = progress.message().empty() ? PhaseWord(progress.phase()) : progress.message();
  if (!progress.implementation().empty()) text += " " + progress.implementation();
  if (progress.round() > 0) text += fmt::format(", round {}", progress.round());
  if (progress.round() > 0 && progress.max_rounds() > 0) {
    text += fmt::format(" of {}", progress.max_rounds());
  }
  if (progress.interval_ratio() > 0) text += ", +-" + FormatPercent(progress.interval_ratio());
  if (progress.median_seconds() > 0) text += ", " + FormatSeconds(progress.median_seconds());
  if (progress.has_elapsed() && progress.phase() != "hold") {
    text += fmt::format(", {:.0f} s", ToSeconds(progress.elapsed()));
  }
  return text;
}

namespace {

std::string CaseText(const Job& job, const CaseStatus& status) {
  std::string text = CaseName(status.spec());
  if (job.cases_size() > 1) {
    text = fmt::format("case {}/{} {}", status.index() + 1, job.cases_size(), text);
  }
  return status.device().empty() ? text : text + " on " + status.device();
}

}  // namespace

std::string ProgressText(const JobView& view) {
  const Job& job = view.job();
  for (const CaseStatus& status : job.cases()) {
    if (status.state() != kbench::v1::JOB_STATE_RUNNING) continue;
    const bool here = view.progress() && view.progress()->case_index() == status.index();
    return CaseText(job, status) + ": " + (here ? PhaseText(*view.progress()) : "starting");
  }
  const bool waits = std::any_of(job.cases().begin(), job.cases().end(),
                                 [](const CaseStatus& one) { return !IsFinal(one.state()); });
  if (IsFinal(job.state()) || !waits) return "";
  return WaitText(job, view.as_of());
}

void ProgressLine::Show(const std::string& text) {
  if (!io_.err_is_terminal || text == shown_) return;
  if (text.empty()) return Erase();
  // One column is left free: a full line would wrap on some terminals.
  const int width = io_.width > 20 ? io_.width - 1 : 79;
  io_.err << "\r\x1b[K" << Cut(text, static_cast<std::size_t>(width)) << std::flush;
  shown_ = text;
}

void ProgressLine::Erase() {
  if (shown_.empty()) return;
  io_.err << "\r\x1b[K" << std::flush;
  shown_.clear();
}

}  // namespace kbench::client
