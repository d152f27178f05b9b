// A case with its implementation, ready to be verified and timed: what the session does between
// Prepare and Finish. Used from one thread; ends before its engine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kbench/v1/runner.pb.h"
#include "worker/runner/open_instance.h"

namespace kbench {

class PreparedCase {
 public:
  PreparedCase(std::unique_ptr<OpenInstance> opened, CaseOptions options)
      : opened_(std::move(opened)), options_(std::move(options)) {}

  // Each is false when the request was not fulfilled: `failure` says why.
  // The first calls, and what they and the engine tell about the case.
  bool Start(v1::Prepared* reply, v1::RunnerFailure* failure);
  // Chooses among the implementation's candidates by timing them; else as Start().
  bool Tune(const v1::Tune& request, v1::Prepared* reply, v1::RunnerFailure* failure);
  bool Verify(const v1::Verify& request, v1::Verified* reply, v1::RunnerFailure* failure);
  bool Warm(const v1::Warm& request, v1::Warmed* reply, v1::RunnerFailure* failure);
  bool Burst(const v1::Burst& request, v1::BurstDone* reply, v1::RunnerFailure* failure);
  // One launch with `range(true)` before and `range(false)` behind it.
  bool ProfileLaunch(const std::function<void(bool begins)>& range, v1::RunnerFailure* failure);
  // The device functions of the instance, as the linker knows them.
  std::vector<std::string> DeviceFunctions() const;
  // Their code, where the program does not hold it.
  std::vector<DeviceCode> Code() const { return opened_->instance().Code(); }

 private:
  bool FirstCalls(v1::RunnerFailure* failure);
  void Describe(v1::Prepared* reply) const;
  bool RunBurst(int samples, double max_seconds, v1::BurstDone* done, v1::RunnerFailure* failure);
  // A few calls from an idle queue to their end, seconds.
  bool MeasureEndToEnd(double budget_seconds, std::vector<double>* calls,
                       v1::RunnerFailure* failure);

  std::unique_ptr<OpenInstance> opened_;
  const CaseOptions options_;
  // What a user waits for, found before anything was tuned.
  double first_call_seconds_ = 0;
  double create_seconds_ = 0;
  double call_seconds_ = 0;  // of one launch, as last seen
  double tune_seconds_ = 0;
  // Of an implementation with candidates: default, cached or measured, and how that came about.
  std::map<std::string, std::string> choice_;
  double pace_seconds_ = 0;  // wall time of one sample, as last seen
};

}  // namespace kbench
