// What a watcher knows of a job: the events of WatchJob folded into one Job. Pure state machine,
// one owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "kbench/v1/job.pb.h"

namespace kbench::client {

bool IsFinal(kbench::v1::JobState state);

class JobView {
 public:
  // Folds one event in. Durable events seen before are ignored (a resumed stream may repeat them).
  // Returns the indices of the cases that ended just now, each reported once.
  std::vector<int> Apply(const kbench::v1::JobEvent& event);
  // Takes results that events did not carry from `job`.
  void FillResults(const kbench::v1::Job& job);

  const kbench::v1::Job& job() const { return job_; }
  const std::optional<kbench::v1::Progress>& progress() const { return progress_; }
  // When the coordinator last said where the job stands, seconds since the epoch by its clock.
  double as_of() const { return as_of_; }
  // The number to resume after.
  std::int64_t sequence() const { return sequence_; }
  bool final() const { return final_; }
  bool known() const { return known_; }

 private:
  void Replace(const kbench::v1::Job& job);
  void ChangeCase(const kbench::v1::CaseStatus& status);
  std::vector<int> NewlyEnded();

  kbench::v1::Job job_;
  std::optional<kbench::v1::Progress> progress_;
  std::set<int> ended_;
  std::int64_t sequence_ = 0;
  double as_of_ = 0;
  bool known_ = false;
  bool final_ = false;
};

}  // namespace kbench::client
