#include "client/output/queue_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "client/output/progress.h"
#include "client/output/time_range.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::DeviceQueue;
using kbench::v1::ForeignProcess;
using kbench::v1::QueuedJob;
using kbench::v1::QueueSnapshot;
using kbench::v1::RunningJob;

constexpr std::size_t kMostForeign = 6;  // lines of a device; the rest is counted

std::string Owner(const std::string& owner) { return owner.empty() ? "-" : Plain(owner); }

void AddWrapped(const std::string& text, std::size_t indent, std::size_t width,
                std::vector<std::string>& lines) {
  std::istringstream wrapped(Wrap(text, std::max(width - indent, std::size_t{20}), 2));
  for (std::string line; std::getline(wrapped, line);) {
    lines.push_back(Cut(std::string(indent, ' ') + line, width));
  }
}

std::string RunningText(const RunningJob& running) {
  std::string text = fmt::format("{} of {}", running.text(), Owner(running.owner()));
  text += ", job " + JobId(running.job());
  if (running.cases() > 1) {
    text += fmt::format(", case {} of {}", running.case_index() + 1, running.cases());
  }
  return text;
}

std::string YieldText(const RunningJob& running, double now) {
  if (running.hold()) {
    const double left = StampSeconds(running.yields().latest()) - now;
    return running.has_yields() && left > 0 ? "free in at most " + SpanWord(left, true)
                                            : "its time is over";
  }
  if (running.progress().phase() == "wait") return "free when the others let it run";
  return "free " + WhenText(running.yields(), now);
}

// Whether the next case comes when this one is over.
bool TakesNext(const std::string& state) {
  return state.empty() || state == "READY" || state == "BUSY" || state == "HELD";
}

std::string StateText(const DeviceQueue& device) {
  if (!device.state_message().empty()) {
    return fmt::format("is {}: {}", device.state(), device.state_message());
  }
  return device.state() == "READY" || device.state().empty() ? "is free" : "is " + device.state();
}

std::string StartCell(const QueuedJob& job, double now) {
  if (!job.reason().empty()) return "held up";
  // A sweep of which a case runs: the next one follows in its turn.
  if (job.position() == 0 && !job.start_estimate().has_latest()) return "goes on";
  return WhenCell(job.start_estimate(), now);
}

// Leaves out columns, the first of `least` first, until the rest fits.
void DropColumns(const std::vector<std::string>& least, TextTable& table) {
  for (const std::string& name : least) {
    if (table.Width() <= table.width) return;
    const auto found = std::find(table.header.begin(), table.header.end(), name);
    if (found == table.header.end()) continue;
    const auto at = found - table.header.begin();
    table.header.erase(found);
    if (at < static_cast<std::ptrdiff_t>(table.right.size())) {
      table.right.erase(table.right.begin() + at);
    }
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

void AddTable(const TextTable& table, std::vector<std::string>& lines) {
  std::istringstream in(table.ToString());
  for (std::string line; std::getline(in, line);) lines.push_back(Cut(line, table.width));
}

}  // namespace

std::string ForeignText(const ForeignProcess& process) {
  std::string text = "a process of another container";
  if (process.pid() > 0 && process.user().empty()) {
    text = fmt::format("pid {} of another container", process.pid());
  } else if (process.pid() > 0) {
    text = fmt::format("{} (pid {}, user {})",
                       process.command().empty() ? "?" : Plain(process.command()), process.pid(),
                       Plain(process.user()));
  }
  if (process.memory_bytes() > 0) {
    text += ", " + FormatSize(static_cast<double>(process.memory_bytes()));
  }
  return text + (process.utilization() < 0
                     ? ", use not known"
                     : fmt::format(", {:.0f} %", 100 * process.utilization()));
}

std::vector<std::string> DeviceLines(const DeviceQueue& device, double now, std::size_t width) {
  std::vector<std::string> lines;
  std::string head = Plain(device.device());
  if (!device.model().empty()) head += " (" + Plain(device.model()) + ")";
  if (device.has_running()) {
    const RunningJob& running = device.running();
    AddWrapped(
        fmt::format("{} {} {}", head, running.hold() ? "is held:" : "runs", RunningText(running)),
        0, width, lines);
    std::string how = running.hold() ? "" : PhaseText(running.progress());
    if (!running.hold() && how.empty()) how = "starting";
    std::string yields = YieldText(running, now);
    if (!TakesNext(device.state()) && yields.rfind("free", 0) == 0) yields.replace(0, 4, "done");
    AddWrapped((how.empty() ? "" : how + "; ") + yields, 2, width, lines);
    if (!device.state_message().empty()) {
      AddWrapped(device.state() + ": " + device.state_message(), 2, width, lines);
    }
  } else {
    AddWrapped(head + " " + StateText(device), 0, width, lines);
  }
  std::size_t shown = 0;
  for (const ForeignProcess& process : device.foreign()) {
    if (shown++ == kMostForeign) {
      lines.push_back(
          fmt::format("  and {} more", device.foreign_size() - static_cast<int>(kMostForeign)));
      break;
    }
    AddWrapped("others: " + ForeignText(process), 2, width, lines);
  }
  return lines;
}

std::string WaitingSummary(const QueueSnapshot& queue) {
  if (queue.waiting_jobs() == 0) return "nobody waits";
  return fmt::format("{} ({}) {}", FormatCount(queue.waiting_jobs(), "job", "jobs"),
                     FormatCount(queue.waiting_cases(), "case", "cases"),
                     queue.waiting_jobs() == 1 ? "waits" : "wait");
}

std::vector<std::string> WaitingLines(const QueueSnapshot& queue, double now, std::size_t width) {
  std::vector<std::string> lines;
  if (queue.waiting().empty()) return lines;
  TextTable table{
      {"job", "owner", "class", "next case", "cases", "takes", "device", "starts"}, {}, {}};
  table.right = {false, false, false, false, true, true, false, false};
  table.width = width;
  std::vector<std::string> reasons;
  for (const QueuedJob& job : queue.waiting()) {
    table.rows.push_back(
        {JobId(job.job()), Cut(Owner(job.owner()), 14), job.priority_class(), Cut(job.text(), 28),
         fmt::format("{}", job.waiting_cases()),
         job.estimated_seconds() > 0 ? SpanWord(job.estimated_seconds(), true) : "?",
         Cut(job.device().empty() ? "any" : job.device(), 12), StartCell(job, now)});
    if (job.reason().empty()) continue;
    const std::string& why = job.message().empty() ? job.reason() : job.message();
    const auto known = std::find(reasons.begin(), reasons.end(), why);
    if (known == reasons.end()) reasons.push_back(why);
  }
  DropColumns({"takes", "class", "cases", "device", "owner"}, table);
  AddTable(table, lines);
  for (const std::string& why : reasons) AddWrapped("held up: " + why, 0, width, lines);
  return lines;
}

std::vector<std::string> OwnerLines(const QueueSnapshot& queue, std::size_t width) {
  std::vector<std::string> lines;
  if (queue.owners().empty()) return lines;
  TextTable table{{"owner", "used lately", "running", "waiting"}, {}, {}};
  table.right = {false, true, true, true};
  table.width = width;
  for (const auto& owner : queue.owners()) {
    table.rows.push_back({Cut(Owner(owner.owner()), 24),
                          owner.used_seconds() < 1 ? "-" : SpanWord(owner.used_seconds(), true),
                          fmt::format("{}", owner.running_cases()),
                          fmt::format("{}", owner.waiting_cases())});
  }
  AddTable(table, lines);
  return lines;
}

std::vector<std::string> QueueLines(const QueueSnapshot& queue, double now, std::size_t width) {
  std::vector<std::string> lines;
  if (queue.devices().empty()) lines.push_back("no devices: no worker has connected yet");
  for (const DeviceQueue& device : queue.devices()) {
    for (std::string& line : DeviceLines(device, now, width)) lines.push_back(std::move(line));
  }
  lines.push_back("");
  const bool some = queue.waiting_size() > 0 && queue.waiting_size() < queue.waiting_jobs();
  AddWrapped(
      WaitingSummary(queue) + (some ? fmt::format(", {} of them shown", queue.waiting_size()) : ""),
      0, width, lines);
  for (std::string& line : WaitingLines(queue, now, width)) lines.push_back(std::move(line));
  std::vector<std::string> owners = OwnerLines(queue, width);
  if (!owners.empty()) lines.push_back("");
  for (std::string& line : owners) lines.push_back(std::move(line));
  return lines;
}

}  // namespace kbench::client
