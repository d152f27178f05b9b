#include "worker/daemon/attempt_runner.h"

namespace kbench {

AttemptOutcome CaseExecutor::Run(const v1::Assign& assign, const CancelToken& cancel,
                                 const CaseDriver::ProgressFn& progress) {
  context_.pool->BeginCase();
  // Runners live across the cases of one job, never longer.
  if (assign.id().job() != job_) context_.pool->DropKept();
  job_ = assign.id().job();
  more_of_job_ = assign.more_of_job();
  driver_ = std::make_unique<CaseDriver>(context_, assign, &cancel, progress);
  return driver_->Run();
}

void CaseExecutor::Settle() {
  driver_.reset();
  if (!more_of_job_) context_.pool->DropKept();
  context_.pool->EndCase();
}

}  // namespace kbench
