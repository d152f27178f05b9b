#include "worker/daemon/hold_driver.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "proto/support/ids.h"
#include "proto/support/process_tree.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/held_command.h"

namespace kbench {
namespace {

constexpr double kNewsSeconds = 0.5;  // between two messages with new output
constexpr double kKillSeconds = 2;    // for its processes to be gone after SIGKILL

std::string LeftText(double seconds) {
  const double whole = std::ceil(std::max(0.0, seconds));
  return whole < 120 ? fmt::format("{:.0f} s", whole) : fmt::format("{:.0f} min", whole / 60);
}

}  // namespace

HoldDriver::HoldDriver(DriverContext context, std::string program, const v1::Assign& assign,
                       const CancelToken* cancel, CaseDriver::ProgressFn progress, HoldTimes times)
    : context_(std::move(context)),
      program_(std::move(program)),
      assign_(assign),
      cancel_(cancel),
      progress_(std::move(progress)),
      times_(times),
      start_(context_.clock->SteadySeconds()) {
  promised_end_ = start_ + ToSeconds(assign.hold().duration());
  end_ = promised_end_;
  // The command of an attached client runs there: the device is nobody else's until it has ended.
  if (assign.hold().attached() && assign.hold().command().empty()) {
    end_ += times_.grace_seconds + times_.client_seconds;
  }
}

HoldDriver::~HoldDriver() {
  if (command_ && command_->pidfd >= 0) close(command_->pidfd);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

absl::Status HoldDriver::StartCommand() {
  folder_ = context_.scratch_dir + "/hold-" + JobId(assign_.id().job());
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return absl::InternalError("cannot make " + folder_ + ": " + error.message());
  int out = -1;
  int err = -1;
  if (absl::Status opened = output_.Open(&out, &err); !opened.ok()) return opened;
  auto process = Spawn(HeldCommandSpec(program_, assign_.hold(), JobId(assign_.id().job()),
                                       context_.device_name, *context_.facts, folder_, out, err));
  output_.CloseWriters();
  if (!process.ok()) return process.status();
  command_ = *process;
  return absl::OkStatus();
}

AttemptOutcome HoldDriver::Run() {
  AttemptOutcome outcome;
  v1::AttemptResult& result = outcome.result;
  *result.mutable_id() = assign_.id();
  spdlog::info("the device is held for {}, at most {}", assign_.id().job(),
               LeftText(promised_end_ - start_));
  absl::Status started = absl::OkStatus();
  if (!assign_.hold().command().empty() && !cancel_->cancelled()) started = StartCommand();
  if (started.ok()) {
    Hold();
    if (!cancel_->cancelled()) *result.mutable_hold() = End();
  }
  context_.monitor->SetOwnProcesses({});
  output_.AddArtifacts(&result);
  (*result.mutable_phase_seconds())[kHoldPhase] = Now() - start_;
  if (!started.ok()) {
    result.set_infra_error(std::string(started.message()));
  } else if (cancel_->why() == CancelToken::Why::kShutdown) {
    result.set_infra_error("worker is shutting down");
  } else {
    result.set_cancelled(cancel_->cancelled());
  }
  outcome.device = context_.monitor->Check();
  spdlog::info("the hold of {} is over after {:.0f} s", assign_.id().job(), Now() - start_);
  return outcome;
}

void HoldDriver::Hold() {
  bool news = false;
  while (true) {
    const double now = Now();
    if (command_) {
      const ExitStatus status = WaitProcess(*command_, 0);
      if (status.exited) {
        exit_ = status;
        break;
      }
      if (Over(now)) Press(now);
    } else if (Over(now)) {
      break;
    }
    Say(now, news);
    const double say = said_at_ + (news ? kNewsSeconds : times_.say_seconds);
    WaitUntil(now, std::min(say, presses_ > 0 ? press_again_ : end_));
    if (output_.Drain()) news = true;
    if (said_at_ == now) news = false;
  }
  // Whatever of it is left in its group goes with it.
  if (command_) kill(-command_->pid, SIGKILL);
  output_.Drain();
}

void HoldDriver::Press(double now) {
  if (presses_ > 0 && now < press_again_) return;
  ++presses_;
  if (presses_ == 1) {
    kill(command_->pid, SIGTERM);  // the process in between passes it on
    press_again_ = now + times_.grace_seconds;
  } else if (presses_ == 2) {
    kill(command_->pid, SIGUSR1);
    press_again_ = now + kKillSeconds;
  } else {
    kill(-command_->pid, SIGKILL);
    press_again_ = now + kKillSeconds;
  }
}

void HoldDriver::WaitUntil(double now, double until) {
  // A cancellation stays readable: once it is known there is nothing to wake for.
  pollfd entries[] = {{cancel_->cancelled() ? -1 : cancel_->fd(), POLLIN, 0},
                      {output_.out_fd(), POLLIN, 0},
                      {output_.err_fd(), POLLIN, 0},
                      {command_ ? command_->pidfd : -1, POLLIN, 0}};
  const double wait = std::clamp(until - now, 0.0, 3600.0);
  poll(entries, 4, static_cast<int>(wait * 1000) + 1);
}

void HoldDriver::Say(double now, bool news) {
  const double since = now - said_at_;
  if (said_at_ >= 0 && since < (news ? kNewsSeconds : times_.say_seconds)) return;
  said_at_ = now;
  if (command_) {
    std::vector<int> own = Descendants(command_->pid);
    own.push_back(command_->pid);
    context_.monitor->SetOwnProcesses(own);
  }
  v1::Progress progress;
  progress.set_case_index(assign_.id().case_index());
  progress.set_phase(kHoldPhase);
  *progress.mutable_elapsed() = ToDuration(now - start_);
  std::string text = presses_ > 0 || now >= promised_end_
                         ? "held, its time is over"
                         : "held, " + LeftText(promised_end_ - now) + " left";
  const std::string line = output_.LastLine();
  if (!line.empty()) text += ": " + line;
  progress.set_message(text);
  progress_(progress);
}

v1::HoldEnd HoldDriver::End() const {
  v1::HoldEnd end;
  if (!exit_) {
    end.set_message("held to the end of its time");
    return end;
  }
  end.set_exit_code(exit_->code);
  end.set_message(fmt::format("{} ended with exit code {}{}", assign_.hold().command(0),
                              exit_->code, presses_ > 0 ? ": its time was over" : ""));
  return end;
}

}  // namespace kbench
