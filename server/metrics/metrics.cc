#include "server/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/support/error.h"
#include "server/metrics/http.h"

namespace kbench::metrics {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using scheduler::State;

const prometheus::Histogram::BucketBoundaries kCommitBuckets = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5};
const prometheus::Histogram::BucketBoundaries kJobBuckets = {
    0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};
const prometheus::Histogram::BucketBoundaries kGapBuckets = {
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10};
constexpr std::pair<kbench::v1::Verdict, const char*> kVerdicts[] = {
    {kbench::v1::VERDICT_VALID, "valid"},
    {kbench::v1::VERDICT_SUSPECT, "suspect"},
    {kbench::v1::VERDICT_INVALID, "invalid"}};
struct DecisionCounter {
  const char* name;
  const char* help;
  bool CellDecision::*happened;
};
constexpr DecisionCounter kDecisions[] = {
    {"kbench_regressions_suspected_total", "Results that were slower by every gate.",
     &CellDecision::suspected},
    {"kbench_regressions_confirmed_total", "Suspicions that measuring again confirmed.",
     &CellDecision::confirmed},
    {"kbench_regressions_rejected_total",
     "Suspicions that measuring again found out: false alarms that nobody saw.",
     &CellDecision::rejected},
    {"kbench_regressions_lapsed_total", "Suspicions that were not measured again in time.",
     &CellDecision::lapsed},
    {"kbench_regressions_cleared_total",
     "Confirmed regressions that are told no longer: the time is back, or there is nothing to "
     "compare with any more because baseline or environment changed.",
     &CellDecision::cleared},
};
constexpr std::pair<AttemptEnd, const char*> kAttemptEnds[] = {
    {AttemptEnd::kDone, "done"},
    {AttemptEnd::kInfra, "infra"},
    {AttemptEnd::kCancelled, "cancelled"},
    {AttemptEnd::kLost, "lost"}};
// The label's values, whatever a worker says.
constexpr const char* kPhases[] = {"wait",    "hold",  "prepare", "verify", "warm",
                                   "measure", "burst", "check",   "finish", "profile"};

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& Histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 const prometheus::Histogram::BucketBoundaries& buckets) {
  return BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

}  // namespace

Metrics::Metrics(const std::string& version, SeriesBounds bounds)
    : registry_(std::make_unique<prometheus::Registry>()),
      results_(bounds),
      rpc_calls_(*registry_) {
  submitted_ = &Counter(*registry_, "kbench_jobs_submitted_total", "Jobs accepted.");
  auto& completed = BuildCounter()
                        .Name("kbench_jobs_completed_total")
                        .Help("Jobs that ended, by their final state.")
                        .Register(*registry_);
  for (const State state :
       {State::kSucceeded, State::kFailed, State::kCancelled, State::kExpired}) {
    completed_[static_cast<std::size_t>(state)] =
        &completed.Add({{"state", scheduler::StateName(state)}});
  }
  auto& attempts = BuildCounter()
                       .Name("kbench_attempts_total")
                       .Help("Tries at a case that ended, by how.")
                       .Register(*registry_);
  for (const auto& [end, name] : kAttemptEnds) {
    attempts_[static_cast<std::size_t>(end)] = &attempts.Add({{"outcome", name}});
  }
  stored_ = &BuildCounter()
                 .Name("kbench_results_total")
                 .Help("Results that were stored, by device and verdict.")
                 .Register(*registry_);
  for (std::size_t i = 0; i < decided_.size(); ++i) {
    decided_[i] =
        &BuildCounter().Name(kDecisions[i].name).Help(kDecisions[i].help).Register(*registry_);
  }
  epochs_ =
      &BuildCounter()
           .Name("kbench_epochs_total")
           .Help("Changes of what a device's results are compared in: driver, clocks, engine.")
           .Register(*registry_);
  lease_expirations_ = &Counter(*registry_, "kbench_lease_expirations_total",
                                "Attempts whose worker did not answer in time.");
  stale_results_ =
      &Counter(*registry_, "kbench_stale_results_total",
               "Results that were not stored: a duplicate, or a newer attempt held the case.");
  commit_seconds_ =
      &Histogram(*registry_, "kbench_store_commit_duration_seconds",
                 "Time of one commit of the store, shared by all that waited.", kCommitBuckets);
  queue_seconds_ = &Histogram(*registry_, "kbench_job_queue_duration_seconds",
                              "Time from a job's submission to its start.", kJobBuckets);
  run_seconds_ = &Histogram(*registry_, "kbench_job_run_duration_seconds",
                            "Time from a job's start to its end.", kJobBuckets);
  gap_seconds_ = &Histogram(*registry_, "kbench_case_gap_seconds",
                            "Time from the end of a case to the start of the next one of its job "
                            "on the same device.",
                            kGapBuckets);
  busy_seconds_ = &BuildCounter()
                       .Name("kbench_device_busy_seconds_total")
                       .Help(
                           "Time that attempts spent on a device, by phase. Phase burst is the "
                           "part of phase measure inside bursts; the others add up to the whole.")
                       .Register(*registry_);
  quarantines_ = &BuildCounter()
                      .Name("kbench_device_quarantines_total")
                      .Help("Quarantines of a device that began, by what they are for.")
                      .Register(*registry_);
  store_bytes_ = &BuildGauge()
                      .Name("kbench_store_bytes")
                      .Help("Bytes that the coordinator keeps, by kind.")
                      .Register(*registry_);
  store_caps_ = &BuildGauge()
                     .Name("kbench_store_cap_bytes")
                     .Help("Most bytes that are kept, of kinds that have a bound.")
                     .Register(*registry_);
  BuildGauge()
      .Name("kbench_build_info")
      .Help("The version of the coordinator; the value is 1.")
      .Register(*registry_)
      .Add({{"version", version}, {"revision", KBENCH_REVISION}, {"compiler", __VERSION__}})
      .Set(1);
}

Metrics::~Metrics() { Stop(); }

void Metrics::JobSubmitted() { submitted_->Increment(); }

void Metrics::JobCompleted(State state, double queue_seconds, double run_seconds) {
  if (prometheus::Counter* counter = completed_[static_cast<std::size_t>(state)]) {
    counter->Increment();
  }
  if (queue_seconds < 0) return;
  queue_seconds_->Observe(queue_seconds);
  run_seconds_->Observe(run_seconds);
}

void Metrics::AttemptEnded(AttemptEnd end) {
  attempts_[static_cast<std::size_t>(end)]->Increment();
}

void Metrics::LeasesExpired(int count) {
  lease_expirations_->Increment(count);
  attempts_[static_cast<std::size_t>(AttemptEnd::kLost)]->Increment(count);
}

void Metrics::RecordResult(const kbench::v1::Result& result) {
  results_.Record(result);
  const auto verdict = std::find_if(std::begin(kVerdicts), std::end(kVerdicts),
                                    [&](const auto& one) { return one.first == result.verdict(); });
  // One without a number has an outcome instead of a verdict.
  const char* name = verdict == std::end(kVerdicts) ? "none" : verdict->second;
  stored_->Add({{"device", result.device()}, {"verdict", name}}).Increment();
}

void Metrics::CellDecided(const std::string& device, const CellDecision& decision) {
  for (std::size_t i = 0; i < decided_.size(); ++i) {
    // Each begins at 0 with the device's first result, so that its first event is a rise.
    prometheus::Counter& counter = decided_[i]->Add({{"device", device}});
    if (decision.*kDecisions[i].happened) counter.Increment();
  }
}

void Metrics::DeviceEnvironment(const std::string& device, bool changed) {
  prometheus::Counter& counter = epochs_->Add({{"device", device}});  // begins at 0
  if (changed) counter.Increment();
}

void Metrics::StoreMayKeep(const std::string& kind, std::int64_t bytes) {
  if (bytes > 0) store_caps_->Add({{"kind", kind}}).Set(static_cast<double>(bytes));
}

void Metrics::StaleResult() { stale_results_->Increment(); }
void Metrics::StoreKeeps(const std::map<std::string, std::int64_t>& bytes) {
  for (const auto& [kind, size] : bytes) {
    store_bytes_->Add({{"kind", kind}}).Set(static_cast<double>(size));
  }
}

void Metrics::CommitTook(double seconds) { commit_seconds_->Observe(seconds); }

void Metrics::DeviceQuarantined(const std::string& device, const std::string& reason) {
  quarantines_->Add({{"device", device}, {"reason", reason}}).Increment();
}

void Metrics::AttemptTook(const std::string& device,
                          const std::map<std::string, double>& phase_seconds, double gap_seconds) {
  for (const char* phase : kPhases) {
    const auto spent = phase_seconds.find(phase);
    // A worker's word: what is not a duration must not spoil a counter.
    if (spent == phase_seconds.end() || !(spent->second > 0) || !std::isfinite(spent->second)) {
      continue;
    }
    busy_seconds_->Add({{"device", device}, {"phase", phase}}).Increment(spent->second);
  }
  if (gap_seconds > 0 && std::isfinite(gap_seconds)) gap_seconds_->Observe(gap_seconds);
}

absl::StatusOr<std::string> Metrics::Serve(const std::string& address,
                                           std::function<std::string()> not_ready) {
  KB_ASSIGN_OR_RETURN(
      http_, HttpEndpoint::Open(address, {[this] { return Text(); }, std::move(not_ready)}));
  return http_->address();
}

void Metrics::Stop() { http_.reset(); }

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  for (const prometheus::Collectable* source :
       {static_cast<const prometheus::Collectable*>(&live_),
        static_cast<const prometheus::Collectable*>(&schedules_)}) {
    for (auto& family : source->Collect()) families.push_back(std::move(family));
  }
  std::string text = prometheus::TextSerializer().Serialize(families);
  results_.AddTo(&text);
  return text;
}

}  // namespace kbench::metrics
