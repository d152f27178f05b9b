#include "client/job_view.h"

#include <algorithm>

#include "proto/support/clock.h"

namespace kbench::client {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::JobEvent;

bool IsFinal(kbench::v1::JobState state) {
  return state == kbench::v1::JOB_STATE_SUCCEEDED || state == kbench::v1::JOB_STATE_FAILED ||
         state == kbench::v1::JOB_STATE_CANCELLED || state == kbench::v1::JOB_STATE_EXPIRED;
}

std::vector<int> JobView::Apply(const JobEvent& event) {
  const bool whole = event.has_snapshot() || event.has_final();
  if (event.sequence() > 0 && !whole) {
    if (event.sequence() <= sequence_) return {};
    sequence_ = event.sequence();
  }
  if (whole || event.has_queue()) as_of_ = static_cast<double>(ToMicros(event.time())) * 1e-6;
  switch (event.event_case()) {
    case JobEvent::kSnapshot:
      Replace(event.snapshot());
      break;
    case JobEvent::kFinal:
      Replace(event.final());
      sequence_ = std::max(sequence_, event.sequence());
      final_ = true;
      break;
    case JobEvent::kCaseChanged:
      ChangeCase(event.case_changed());
      break;
    case JobEvent::kProgress:
      progress_ = event.progress();
      break;
    case JobEvent::kQueue:
      job_.set_queue_position(event.queue().position());
      *job_.mutable_start_estimate() = event.queue().start_estimate();
      if (!IsFinal(job_.state())) {
        job_.set_reason(event.queue().reason());
        job_.set_message(event.queue().message());
      }
      break;
    default:
      break;
  }
  return NewlyEnded();
}

void JobView::Replace(const Job& job) {
  Job old = std::move(job_);
  job_ = job;
  FillResults(old);
  sequence_ = std::max(sequence_, job.last_sequence());
  known_ = true;
}

void JobView::FillResults(const Job& job) {
  for (CaseStatus& status : *job_.mutable_cases()) {
    if (status.results_size() > 0) continue;
    for (const CaseStatus& other : job.cases()) {
      if (other.index() == status.index()) *status.mutable_results() = other.results();
    }
  }
}

void JobView::ChangeCase(const CaseStatus& changed) {
  if (progress_ && progress_->case_index() == changed.index()) progress_.reset();
  if (changed.state() == kbench::v1::JOB_STATE_RUNNING && !IsFinal(job_.state())) {
    job_.set_state(kbench::v1::JOB_STATE_RUNNING);
    job_.set_queue_position(0);
  }
  for (CaseStatus& status : *job_.mutable_cases()) {
    if (status.index() != changed.index()) continue;
    if (IsFinal(changed.state()) && !IsFinal(status.state())) {
      job_.set_cases_done(job_.cases_done() + 1);
    }
    kbench::v1::CaseSpec spec = status.spec();
    status = changed;
    if (!status.has_spec()) *status.mutable_spec() = std::move(spec);
    return;
  }
  *job_.add_cases() = changed;
}

std::vector<int> JobView::NewlyEnded() {
  std::vector<int> indices;
  for (const CaseStatus& status : job_.cases()) {
    if (IsFinal(status.state()) && ended_.insert(status.index()).second) {
      indices.push_back(status.index());
    }
  }
  return indices;
}

}  // namespace kbench::client
