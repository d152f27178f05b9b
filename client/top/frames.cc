#include "client/top/frames.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <set>

#include "client/output/queue_text.h"
#include "client/output/text_table.h"
#include "client/output/time_range.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::DeviceQueue;
using kbench::v1::QueueSnapshot;

std::string ClockText(const google::protobuf::Timestamp& time) {
  const auto seconds = static_cast<std::time_t>(time.seconds());
  std::tm local = {};
  localtime_r(&seconds, &local);
  return fmt::format("{:%H:%M:%S}", local);
}

// What the device does, without what moves on by itself.
std::string DoingText(const DeviceQueue& device) {
  std::string text = Plain(device.device());
  if (device.has_running()) {
    const auto& running = device.running();
    text +=
        fmt::format(" {} {} of {}, job {}", running.hold() ? "is held:" : "runs", running.text(),
                    running.owner().empty() ? "-" : running.owner(), JobId(running.job()));
    if (running.cases() > 1) {
      text += fmt::format(", case {} of {}", running.case_index() + 1, running.cases());
    }
    if (running.progress().phase() == "wait") text += ", waits for others on it";
  } else {
    text +=
        " is " + (device.state().empty() || device.state() == "READY" ? "free" : device.state());
    if (!device.state_message().empty()) text += ": " + device.state_message();
  }
  for (const auto& process : device.foreign()) {
    // Its use goes up and down: whether it computes at all is the news.
    if (process.utilization() >= 0.01) {
      text += fmt::format("; {} (user {}) computes on it",
                          process.command().empty() ? "somebody" : process.command(),
                          process.user().empty() ? "-" : process.user());
    }
  }
  return Plain(text);
}

}  // namespace

std::vector<std::string> TopLines(const QueueFeed::State& state, const std::string& address,
                                  double steady, std::size_t width) {
  std::vector<std::string> lines;
  const std::string away = state.away_since > 0
                               ? fmt::format("the coordinator is away for {}: reconnecting ...",
                                             SpanWord(steady - state.away_since, false))
                               : "";
  if (!state.queue) {
    lines.push_back(away.empty() ? "kbench at " + address + ": connecting ..." : away);
    return lines;
  }
  const QueueSnapshot& queue = *state.queue;
  lines.push_back(fmt::format("kbench at {}, {}; q ends", address, ClockText(queue.time())));
  if (!away.empty()) lines.push_back(away);
  lines.push_back("");
  const double now = StampSeconds(queue.time()) + std::max(0.0, steady - state.received_at);
  for (std::string& line : QueueLines(queue, now, width)) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> ChangeLog::Take(const QueueSnapshot& queue) {
  std::vector<std::string> lines;
  std::set<std::string> seen = {""};
  const auto tell = [&](const std::string& key, const std::string& text) {
    seen.insert(key);
    std::string& told = told_[key];
    if (told == text) return;
    told = text;
    lines.push_back(ClockText(queue.time()) + " " + text);
  };
  for (const DeviceQueue& device : queue.devices()) tell(device.device(), DoingText(device));
  tell("", WaitingSummary(queue));
  for (auto it = told_.begin(); it != told_.end();) {
    it = seen.count(it->first) > 0 ? std::next(it) : told_.erase(it);
  }
  return lines;
}

}  // namespace kbench::client
