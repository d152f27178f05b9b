// A case with its implementation, ready to be verified and timed: what the session does between
// Prepare and Finish. Used from one thread; ends before its engine.
#pragma once

#include <memory>
#include <utility>

#include "kbench/v1/runner.pb.h"
#include "worker/runner/open_instance.h"

namespace kbench {

class PreparedCase {
 public:
  explicit PreparedCase(std::unique_ptr<OpenInstance> opened) : opened_(std::move(opened)) {}

  // Each is false when the request was not fulfilled: `failure` says why.
  // The first calls, and what they and the engine tell about the case.
  bool Start(const CaseOptions& options, v1::Prepared* reply, v1::RunnerFailure* failure);
  bool Verify(const v1::Verify& request, v1::Verified* reply, v1::RunnerFailure* failure);
  bool Warm(const v1::Warm& request, v1::Warmed* reply, v1::RunnerFailure* failure);
  bool Burst(const v1::Burst& request, v1::BurstDone* reply, v1::RunnerFailure* failure);

 private:
  bool RunBurst(int samples, double max_seconds, v1::BurstDone* done, v1::RunnerFailure* failure);
  // The median of a few calls from an idle queue to their end.
  bool MeasureEndToEnd(double budget_seconds, double* seconds, v1::RunnerFailure* failure);

  std::unique_ptr<OpenInstance> opened_;
  double pace_seconds_ = 0;  // wall time of one sample, as last seen
};

}  // namespace kbench
