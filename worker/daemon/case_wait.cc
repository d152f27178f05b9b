// Before a case: does anybody else compute on the device?
#include <poll.h>

#include <algorithm>

#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/case_driver.h"

namespace kbench {
namespace {

constexpr double kHarmlessShare = 0.01;  // an idle notebook holds a context and computes nothing

std::string Describe(const ForeignProcess& process) {
  std::string who = "a process of another container";
  if (process.pid > 0 && process.user.empty()) {
    who = fmt::format("process {} of another container", process.pid);
  } else if (process.pid > 0) {
    who = fmt::format("process {} ({}, user {})", process.pid, process.command, process.user);
  }
  if (process.utilization < 0) {
    return who + " holds the device, and the driver does not tell whether it computes";
  }
  return fmt::format("{} uses {:.0f} % of the device", who, 100 * process.utilization);
}

// Empty when nobody computes; else who does most.
std::string BusyWith(const std::vector<ForeignProcess>& foreign) {
  const ForeignProcess* worst = nullptr;
  for (const ForeignProcess& process : foreign) {
    if (process.utilization >= 0 && process.utilization < kHarmlessShare) continue;
    if (worst == nullptr || process.utilization > worst->utilization) worst = &process;
  }
  return worst == nullptr ? "" : Describe(*worst);
}

}  // namespace

bool CaseDriver::Pause(double seconds) {
  pollfd entry{cancel_->fd(), POLLIN, 0};
  poll(&entry, 1, static_cast<int>(std::max(0.0, seconds) * 1000));
  return !cancel_->cancelled();
}

// The case's budget starts anew after it. False: it found the device busy for too long, or was not
// to wait; all cells have ended then.
bool CaseDriver::WaitUntilFree() {
  if (policy_.if_busy() == "run" || context_.monitor->Foreign().empty()) return true;
  const PhaseScope phase(this, "wait");
  std::string who;
  const bool fail = policy_.if_busy() == "fail";
  do {
    if (!Pause(context_.busy_window_seconds)) break;
    who = BusyWith(context_.monitor->Foreign());
    if (who.empty() || fail) break;
    wait_message_ = "waiting for the device: " + who;
    Say("wait", "");
    wait_message_.clear();
  } while (Elapsed() < context_.busy_wait_seconds);
  if (!who.empty() && !cancel_->cancelled()) {
    spdlog::warn("the device is busy: {}", who);
    if (!fail) {
      busy_error_ = fmt::format("FOREIGN_BUSY: after {:.0f} s of waiting {}", Elapsed(), who);
    }
    for (const auto& cell : cells_) End(*cell, v1::OUTCOME_INFRA, "FOREIGN_BUSY", who);
    return false;
  }
  deadline_ += Elapsed();
  end_ += Elapsed();
  start_ += Elapsed();
  return true;
}

}  // namespace kbench
