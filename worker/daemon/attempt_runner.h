// What the session asks to run an attempt. The real one drives runners; tests script theirs.
#pragma once

#include <memory>
#include <string>

#include "kbench/v1/worker_service.pb.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/case_driver.h"

namespace kbench {

class AttemptRunner {
 public:
  virtual ~AttemptRunner() = default;
  // Both are called from the case thread, in turn. Settle() comes after the result is on its way
  // and does what need not delay it.
  virtual AttemptOutcome Run(const v1::Assign& assign, const CancelToken& cancel,
                             const CaseDriver::ProgressFn& progress) = 0;
  virtual void Settle() = 0;
};

// Runs attempts on this machine's device through the pool.
class CaseExecutor final : public AttemptRunner {
 public:
  explicit CaseExecutor(DriverContext context) : context_(std::move(context)) {}
  AttemptOutcome Run(const v1::Assign& assign, const CancelToken& cancel,
                     const CaseDriver::ProgressFn& progress) override;
  void Settle() override;

 private:
  const DriverContext context_;
  std::unique_ptr<CaseDriver> driver_;
  std::string job_;  // whose runners are kept
  bool more_of_job_ = false;
};

}  // namespace kbench
