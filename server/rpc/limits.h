// What one owner may ask of the coordinator: jobs and cases at a time, submits a second, and how
// long one job may take. Pure: time is an argument. Not thread-safe: owned by the coordinator,
// under its lock; the counts are made anew from the jobs after a restart.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "kbench/v1/job.pb.h"

namespace kbench::server {

struct LimitOptions {
  int most_queued_cases = 100'000;   // of all owners together
  int most_jobs_of_owner = 10'000;   // that have not ended
  int most_cases_of_owner = 50'000;  // likewise
  double submits_per_second = 20;    // of one owner, over time; 0: as many as come
  int submit_burst = 2000;           // at once
  double most_job_seconds = 86'400;  // the budgets of its cases together; 0: any
};

// Fills with `rate` a second up to `size`; every take costs one.
class TokenBucket {
 public:
  TokenBucket(double rate, double size) : rate_(rate), size_(size), tokens_(size) {}
  // 0 when one was taken, else the seconds until there is one. A clock that goes back fills
  // nothing.
  double Take(double now);
  void GiveBack() { tokens_ = std::min(size_, tokens_ + 1); }
  bool full(double now) const;

 private:
  double rate_;
  double size_;
  double tokens_;
  double filled_at_ = 0;
};

// What the cases of a job may take in all, seconds.
double BudgetSeconds(const kbench::v1::JobSpec& spec);

class Limits {
 public:
  explicit Limits(const LimitOptions& options) : options_(options) {}

  // Room for one more job of so many cases, beside `queued` of all owners: reserved when OK, until
  // Release. RESOURCE_EXHAUSTED otherwise, with the limit in the metadata (limit, owner, most, now)
  // and, where waiting helps, RetryInfo.
  absl::Status Reserve(double now, const std::string& owner, int cases, double job_seconds,
                       int queued);
  // A submit that was only repeated costs nothing of what its owner may ask for in a time.
  void GiveBack(const std::string& owner);
  // The job is stored, or never will be.
  void Release(const std::string& owner, int cases);

  void JobBegan(const std::string& owner, int open_cases);
  void CaseEnded(const std::string& owner);
  void JobEnded(const std::string& owner);
  // Forgets jobs and cases, not what is reserved and how often an owner came.
  void Reset();

 private:
  struct Owner {
    explicit Owner(const LimitOptions& options)
        : bucket(options.submits_per_second, options.submit_burst) {}
    int jobs = 0;
    int cases = 0;
    int reserved_jobs = 0;
    int reserved_cases = 0;
    TokenBucket bucket;
  };

  Owner& Of(const std::string& owner);
  void ForgetIdle(double now);

  const LimitOptions options_;
  std::map<std::string, Owner> owners_;
  int reserved_cases_ = 0;
};

}  // namespace kbench::server
