#include "server/rpc/limits.h"

#include <algorithm>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::server {
namespace {

constexpr double kDefaultBudgetSeconds = 60;
// A case ends every few seconds: earlier there is hardly room.
constexpr double kRoomRetrySeconds = 10;
constexpr double kQueueRetrySeconds = 30;
// Owners are whatever clients call themselves where nothing is authenticated.
constexpr std::size_t kMostIdleOwners = 10'000;

absl::Status Exhausted(const char* reason, const std::string& message, const std::string& owner,
                       double most, double now, double retry_after_seconds) {
  ErrorDetails details{.reason = reason, .retry_after_seconds = retry_after_seconds};
  details.metadata = {{"limit", reason},
                      {"owner", owner},
                      {"most", fmt::format("{}", most)},
                      {"now", fmt::format("{}", now)}};
  return MakeError(absl::StatusCode::kResourceExhausted, message, details);
}

}  // namespace

double TokenBucket::Take(double now) {
  if (rate_ <= 0) return 0;
  const double passed = std::max(0.0, now - filled_at_);
  tokens_ = std::min(size_, tokens_ + passed * rate_);
  filled_at_ = now;
  if (tokens_ < 1) return (1 - tokens_) / rate_;
  tokens_ -= 1;
  return 0;
}

bool TokenBucket::full(double now) const {
  return rate_ <= 0 || tokens_ + std::max(0.0, now - filled_at_) * rate_ >= size_;
}

double BudgetSeconds(const kbench::v1::JobSpec& spec) {
  const double budget = spec.policy().has_case_budget() ? ToSeconds(spec.policy().case_budget())
                                                        : kDefaultBudgetSeconds;
  return budget * spec.cases_size();
}

Limits::Owner& Limits::Of(const std::string& owner) {
  return owners_.try_emplace(owner, options_).first->second;
}

void Limits::ForgetIdle(double now) {
  if (owners_.size() < kMostIdleOwners) return;
  std::erase_if(owners_, [&](const auto& entry) {
    const Owner& owner = entry.second;
    return owner.jobs + owner.cases + owner.reserved_jobs == 0 && owner.bucket.full(now);
  });
}

absl::Status Limits::Reserve(double now, const std::string& name, int cases, double job_seconds,
                             int queued) {
  ForgetIdle(now);
  if (options_.most_job_seconds > 0 && job_seconds > options_.most_job_seconds) {
    return Exhausted("JOB_TOO_LONG",
                     fmt::format("the budgets of its {} cases add up to {:.0f} s, and a job may "
                                 "take {:.0f} s; split it, or give a smaller budget",
                                 cases, job_seconds, options_.most_job_seconds),
                     name, options_.most_job_seconds, job_seconds, 0);
  }
  Owner& owner = Of(name);
  const int jobs = owner.jobs + owner.reserved_jobs;
  if (jobs + 1 > options_.most_jobs_of_owner) {
    return Exhausted("OWNER_JOBS",
                     fmt::format("{} has {} jobs that have not ended, at most {} may be", name,
                                 jobs, options_.most_jobs_of_owner),
                     name, options_.most_jobs_of_owner, jobs, kRoomRetrySeconds);
  }
  const int open = owner.cases + owner.reserved_cases;
  if (open + cases > options_.most_cases_of_owner) {
    const bool never = cases > options_.most_cases_of_owner;
    return Exhausted("OWNER_CASES",
                     fmt::format("{} has {} cases that have not ended, and with {} more there "
                                 "would be above {}{}",
                                 name, open, cases, options_.most_cases_of_owner,
                                 never ? "; split the job" : ""),
                     name, options_.most_cases_of_owner, open, never ? 0 : kRoomRetrySeconds);
  }
  const int waiting = queued + reserved_cases_;
  if (waiting + cases > options_.most_queued_cases) {
    return Exhausted("QUEUE_FULL",
                     fmt::format("the queue is full: {} cases wait, at most {} may", waiting,
                                 options_.most_queued_cases),
                     name, options_.most_queued_cases, waiting, kQueueRetrySeconds);
  }
  if (const double wait = owner.bucket.Take(now); wait > 0) {
    return Exhausted("SUBMIT_RATE",
                     fmt::format("{} submits faster than {} a second; put more cases into one job",
                                 name, options_.submits_per_second),
                     name, options_.submits_per_second, options_.submits_per_second, wait);
  }
  ++owner.reserved_jobs;
  owner.reserved_cases += cases;
  reserved_cases_ += cases;
  return absl::OkStatus();
}

void Limits::Release(const std::string& name, int cases) {
  Owner& owner = Of(name);
  --owner.reserved_jobs;
  owner.reserved_cases -= cases;
  reserved_cases_ -= cases;
}

void Limits::GiveBack(const std::string& name) { Of(name).bucket.GiveBack(); }

void Limits::JobBegan(const std::string& owner, int open_cases) {
  Owner& entry = Of(owner);
  ++entry.jobs;
  entry.cases += open_cases;
}

void Limits::CaseEnded(const std::string& owner) { --Of(owner).cases; }
void Limits::JobEnded(const std::string& owner) { --Of(owner).jobs; }

void Limits::Reset() {
  for (auto& [name, owner] : owners_) owner.jobs = owner.cases = 0;
}

}  // namespace kbench::server
