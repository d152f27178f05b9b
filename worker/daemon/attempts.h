// The attempts a worker holds: the running one, and finished ones whose results lie in the spool.
// Runs them on its own thread (which calibrates the device first, and does the runner's idle work)
// and says what the coordinator must hear. Independent of any
// connection, so that a broken stream never loses the running case. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "kbench/v1/worker_service.pb.h"
#include "proto/support/mutex.h"
#include "worker/daemon/attempt_runner.h"
#include "worker/daemon/spool.h"

namespace kbench {

class Attempts {
 public:
  // Both outlive the object. What the spool holds from an earlier life counts as finished.
  Attempts(AttemptRunner* runner, Spool* spool);
  // Cancels the running attempt and waits for its end.
  ~Attempts();

  // Called (from any thread) when there is something new to send.
  void OnChange(std::function<void()> wake);

  void Assign(const v1::Assign& assign);
  void Cancel(const v1::AttemptId& id, CancelToken::Why why);
  void Acknowledge(const v1::AttemptId& id);
  // Forgets an attempt that is fenced off.
  void Kill(const v1::AttemptId& id);
  // Queues everything unacknowledged for sending again, for a fresh session.
  void ResendAll();
  // Takes no new attempt (what is assigned is handed back) and begins no idle work; the running one
  // goes on.
  void StopTaking();
  // The same, and cancels the running attempt, which is handed back.
  void Drain();

  // Something has happened that may change when the next idle work is due.
  void Reconsider();

  std::vector<v1::HeldAttempt> Held() const;
  bool busy() const;
  // A hold has begun: nothing of this worker's is on the device.
  bool holding() const;
  // Nothing runs, nothing waits for an acknowledgement.
  bool idle() const;
  // Not OK: what the last attempt found out about the device.
  absl::Status device() const;
  void SetDevice(const absl::Status& status);
  // The next message to send: results first, then the latest progress.
  std::optional<v1::WorkerMessage> NextMessage();

 private:
  void Loop();
  // Waits for an attempt; does idle work meanwhile. False at the end.
  bool WaitForAttempt(v1::Assign* assign, std::shared_ptr<CancelToken>* cancel);
  void RunOne(const v1::Assign& assign, const CancelToken& cancel);
  void Finish(AttemptOutcome outcome, bool fenced);
  void Wake();

  AttemptRunner* const runner_;
  Spool* const spool_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<v1::Assign> running_ ABSL_GUARDED_BY(mutex_);
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;  // the case thread has seen running_
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<CancelToken> cancel_ ABSL_GUARDED_BY(mutex_);
  CancelToken beginning_;                                           // the calibration
  std::shared_ptr<CancelToken> idle_work_ ABSL_GUARDED_BY(mutex_);  // under way
  std::vector<v1::AttemptId> finished_ ABSL_GUARDED_BY(mutex_);
  // Answers that lie only here: refusals, and results that the disk would not take.
  std::vector<v1::AttemptResult> unspooled_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::AttemptResult> results_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::AttemptProgress> progress_ ABSL_GUARDED_BY(mutex_);
  absl::Status device_ ABSL_GUARDED_BY(mutex_) = absl::OkStatus();
  std::thread thread_;
};

bool SameAttempt(const v1::AttemptId& a, const v1::AttemptId& b);

}  // namespace kbench
