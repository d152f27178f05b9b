// What the session asks to run an attempt. The real one drives runners; tests script theirs.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "kbench/v1/worker_service.pb.h"
#include "worker/daemon/calibration_store.h"
#include "worker/daemon/canary_drift.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/case_driver.h"
#include "worker/daemon/device_condition.h"

namespace kbench {

class AttemptRunner {
 public:
  virtual ~AttemptRunner() = default;
  // All are called from the case thread, in turn.
  // At first: waits for the runners that the worker's start did not wait for.
  virtual void Gather(const CancelToken& /*cancel*/) {}
  // Before the first attempt: makes the device fit to measure.
  virtual void Begin(const CancelToken& /*cancel*/) {}
  virtual AttemptOutcome Run(const v1::Assign& assign, const CancelToken& cancel,
                             const CaseDriver::ProgressFn& progress) = 0;
  // After the result is on its way; does what need not delay it.
  virtual void Settle() = 0;
  // Nothing has been assigned for `idle_seconds`: in how many seconds to call Idle(). Never, by
  // default.
  virtual double IdleWorkIn(double /*idle_seconds*/) {
    return std::numeric_limits<double>::infinity();
  }
  // Cancelled when an attempt arrives: must then return within milliseconds.
  virtual void Idle(const CancelToken& /*cancel*/) {}
};

// What the coordinator is told of the pool's runners.
v1::Offer OfferOf(const RunnerPool& pool);

struct ExecutorOptions {
  DriverContext context;  // its calibration is filled in here
  DeviceCondition* condition = nullptr;
  std::string store_path;  // of the calibration
  bool canaries = true;
  double idle_seconds = 10;                // before the first canary, and between the first five
  double calibrate_seconds = 60;           // watchdog
  std::string program = "/proc/self/exe";  // this kbench-worker, to start the commands of holds
};

// Runs attempts on this machine's device through the pool; calibrates the device first, and sends
// canaries while there is nothing else to do.
class CaseExecutor final : public AttemptRunner {
 public:
  explicit CaseExecutor(ExecutorOptions options);
  void Gather(const CancelToken& cancel) override;
  void Begin(const CancelToken& cancel) override;
  AttemptOutcome Run(const v1::Assign& assign, const CancelToken& cancel,
                     const CaseDriver::ProgressFn& progress) override;
  void Settle() override;
  double IdleWorkIn(double idle_seconds) override;
  void Idle(const CancelToken& cancel) override;

 private:
  void CalibrateDevice(const CancelToken& cancel);
  AttemptOutcome HoldDevice(const v1::Assign& assign, const CancelToken& cancel,
                            const CaseDriver::ProgressFn& progress);
  void FlyCanaries(const CancelToken& cancel);
  // A session came back right: what it says of the device.
  void JudgeCanary();
  void TellCanary();
  // Seconds between canary sessions now.
  double CanaryPace();
  void Publish();

  const ExecutorOptions options_;
  const CalibrationStore store_;
  StoredCalibration known_;
  CanaryDrift drift_;
  std::int64_t canaries_flown_ = 0;  // right ones, since this process began
  std::int64_t bad_canaries_ = 0;    // the others
  int good_canaries_ = 0;            // right ones without drift in a row, since the newest fault
  std::int64_t faults_seen_ = 0;
  double last_failure_ = -1;  // of a calibration, steady seconds; negative: none since it passed
  std::unique_ptr<CaseDriver> driver_;
  std::string job_;  // whose runners are kept
  CodeMemory code_;  // of that job
  bool more_of_job_ = false;
  double last_end_ = 0;  // of the latest case, steady seconds
};

}  // namespace kbench
