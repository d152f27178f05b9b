#include "worker/daemon/attempts.h"

#include <algorithm>
#include <utility>

#include "proto/support/clock.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/hold_driver.h"
#include "worker/daemon/sendable.h"

namespace kbench {

bool SameAttempt(const v1::AttemptId& a, const v1::AttemptId& b) {
  return a.job() == b.job() && a.case_index() == b.case_index() && a.attempt() == b.attempt() &&
         a.epoch() == b.epoch();
}

Attempts::Attempts(AttemptRunner* runner, Spool* spool) : runner_(runner), spool_(spool) {
  for (const auto& result : spool_->List()) finished_.push_back(result.id());
  thread_ = std::thread([this] { Loop(); });
}

Attempts::~Attempts() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    beginning_.Cancel(CancelToken::Why::kShutdown);
    if (idle_work_ != nullptr) idle_work_->Cancel(CancelToken::Why::kShutdown);
    if (cancel_ != nullptr) cancel_->Cancel(CancelToken::Why::kShutdown);
    changed_.NotifyAll();
  }
  thread_.join();
}

void Attempts::OnChange(std::function<void()> wake) {
  MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

void Attempts::Wake() {
  std::function<void()> wake;
  {
    MutexLock lock(mutex_);
    wake = wake_;
  }
  if (wake) wake();
}

void Attempts::Assign(const v1::Assign& assign) {
  {
    MutexLock lock(mutex_);
    if (running_ && SameAttempt(running_->id(), assign.id())) return;
    if (running_ || draining_) {
      v1::AttemptResult refused;
      *refused.mutable_id() = assign.id();
      if (draining_) {
        refused.set_cancelled(true);  // handed back
      } else {
        refused.set_infra_error("worker is busy with another case");
      }
      results_.push_back(refused);
      unspooled_.push_back(std::move(refused));
    } else {
      running_ = assign;
      taken_ = false;
      cancel_ = std::make_shared<CancelToken>();
      if (idle_work_ != nullptr) idle_work_->Cancel(CancelToken::Why::kRequested);
      changed_.NotifyAll();
      return;
    }
  }
  Wake();
}

void Attempts::Cancel(const v1::AttemptId& id, CancelToken::Why why) {
  MutexLock lock(mutex_);
  if (running_ && SameAttempt(running_->id(), id)) cancel_->Cancel(why);
}

void Attempts::Acknowledge(const v1::AttemptId& id) {
  spool_->Remove(id);
  {
    MutexLock lock(mutex_);
    const auto same = [&](const v1::AttemptId& other) { return SameAttempt(id, other); };
    const auto answered = [&](const v1::AttemptResult& result) { return same(result.id()); };
    std::erase_if(finished_, same);
    std::erase_if(results_, answered);
    std::erase_if(unspooled_, answered);
  }
  Wake();
}

void Attempts::Kill(const v1::AttemptId& id) {
  Cancel(id, CancelToken::Why::kFenced);
  Acknowledge(id);
}

void Attempts::ResendAll() {
  // Read outside the lock: results may be large.
  auto spooled = spool_->List();
  {
    MutexLock lock(mutex_);
    results_.assign(std::make_move_iterator(spooled.begin()),
                    std::make_move_iterator(spooled.end()));
    results_.insert(results_.end(), unspooled_.begin(), unspooled_.end());
  }
  Wake();
}

void Attempts::StopTaking() {
  MutexLock lock(mutex_);
  draining_ = true;
  beginning_.Cancel(CancelToken::Why::kShutdown);
  if (idle_work_ != nullptr) idle_work_->Cancel(CancelToken::Why::kShutdown);
}

void Attempts::Drain() {
  StopTaking();
  MutexLock lock(mutex_);
  if (cancel_ != nullptr) cancel_->Cancel(CancelToken::Why::kShutdown);
}

void Attempts::Reconsider() {
  MutexLock lock(mutex_);
  changed_.NotifyAll();
}

std::vector<v1::HeldAttempt> Attempts::Held() const {
  MutexLock lock(mutex_);
  std::vector<v1::HeldAttempt> held;
  if (running_) {
    held.emplace_back();
    *held.back().mutable_id() = running_->id();
  }
  for (const auto& id : finished_) {
    held.emplace_back();
    *held.back().mutable_id() = id;
    held.back().set_finished(true);
  }
  return held;
}

bool Attempts::busy() const {
  MutexLock lock(mutex_);
  return running_.has_value();
}

bool Attempts::holding() const {
  MutexLock lock(mutex_);
  return holding_;
}

bool Attempts::idle() const {
  MutexLock lock(mutex_);
  return !running_ && finished_.empty() && results_.empty();
}

absl::Status Attempts::device() const {
  MutexLock lock(mutex_);
  return device_;
}

void Attempts::SetDevice(const absl::Status& status) {
  MutexLock lock(mutex_);
  device_ = status;
}

std::optional<v1::WorkerMessage> Attempts::NextMessage() {
  MutexLock lock(mutex_);
  v1::WorkerMessage message;
  if (!results_.empty()) {
    *message.mutable_result() = std::move(results_.front());
    results_.pop_front();
  } else if (progress_) {
    *message.mutable_progress() = *std::move(progress_);
    progress_.reset();
  } else {
    return std::nullopt;
  }
  return message;
}

void Attempts::Loop() {
  runner_->Gather(beginning_);
  Wake();
  runner_->Begin(beginning_);
  Wake();
  v1::Assign assign;
  std::shared_ptr<CancelToken> cancel;
  while (WaitForAttempt(&assign, &cancel)) RunOne(assign, *cancel);
}

bool Attempts::WaitForAttempt(v1::Assign* assign, std::shared_ptr<CancelToken>* cancel) {
  constexpr double kLongSeconds = 3600;
  double idle_since = SystemClock().SteadySeconds();
  MutexLock lock(mutex_);
  while (true) {
    if (stop_) return false;
    if (running_ && !taken_) {
      taken_ = true;
      *assign = *running_;
      *cancel = cancel_;
      return true;
    }
    const bool may_work = !draining_ && device_.ok();
    const double wait =
        may_work ? runner_->IdleWorkIn(SystemClock().SteadySeconds() - idle_since) : kLongSeconds;
    if (wait > 0) {
      changed_.WaitFor(mutex_, std::min(wait, kLongSeconds));
      continue;
    }
    idle_work_ = std::make_shared<CancelToken>();
    const auto token = idle_work_;
    mutex_.Unlock();
    runner_->Idle(*token);
    Wake();
    mutex_.Lock();
    idle_work_.reset();
    idle_since = SystemClock().SteadySeconds();
  }
}

void Attempts::RunOne(const v1::Assign& assign, const CancelToken& cancel) {
  AttemptOutcome outcome =
      runner_->Run(assign, cancel, [this, &assign](const v1::Progress& progress) {
        {
          MutexLock lock(mutex_);
          // Only the latest counts: a slow stream drops the ones between.
          progress_.emplace();
          if (progress.phase() == kHoldPhase) holding_ = true;
          *progress_->mutable_id() = assign.id();
          *progress_->mutable_progress() = progress;
        }
        Wake();
      });
  // Nobody waits for the result of either.
  const bool fenced =
      cancel.why() == CancelToken::Why::kFenced || cancel.why() == CancelToken::Why::kFinished;
  Finish(std::move(outcome), fenced);
  runner_->Settle();
}

void Attempts::Finish(AttemptOutcome outcome, bool fenced) {
  // Durable before it counts as finished: a crash between the two must not lose it. A full disk
  // must not either, while this process lives.
  if (!fenced && !MakeSendable(&outcome.result)) {
    spdlog::warn("the result of {} could not be sent as it was{}{}", outcome.result.id().job(),
                 outcome.result.infra_error().empty() ? ": artifacts were left out" : ": ",
                 outcome.result.infra_error());
  }
  const absl::Status spooled = fenced ? absl::OkStatus() : spool_->Put(outcome.result);
  if (!spooled.ok()) {
    spdlog::error("the result of {} is not spooled: {}", outcome.result.id().job(),
                  std::string(spooled.message()));
  }
  {
    MutexLock lock(mutex_);
    running_.reset();
    holding_ = false;
    cancel_.reset();
    progress_.reset();
    device_ = outcome.device;
    if (!fenced) {
      finished_.push_back(outcome.result.id());
      if (!spooled.ok()) unspooled_.push_back(outcome.result);
      results_.push_back(std::move(outcome.result));
    }
  }
  Wake();
}

}  // namespace kbench
