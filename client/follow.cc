#include "client/follow.h"

#include <algorithm>
#include <vector>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/reconnect.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::JobEvent;

class Follower {
 public:
  Follower(const Backend& backend, const std::string& name, const FollowOptions& options,
           Interrupt& interrupt, JobObserver& observer)
      : backend_(backend),
        name_(name),
        options_(options),
        interrupt_(interrupt),
        observer_(observer) {}

  FollowResult Run() {
    // Also between two streams somebody reacts to Ctrl-C: the pause ends.
    const Interrupt::Hook here(interrupt_, [] {});
    Restart();
    while (true) {
      const grpc::Status status = WatchOnce();
      if (view_.final()) return {absl::OkStatus(), false, view_.job()};
      if (interrupt_.fired()) return {absl::OkStatus(), true, view_.job()};
      // An end without `final` and a vanished coordinator are the same thing: resume.
      const absl::Status error = FromGrpc(status);
      if (!error.ok() && !Passes(error)) return {error, false, view_.job()};
      // Never reached, or away for too long.
      if (!view_.known() && !error.ok() && DetailsOf(error).reason.empty()) {
        return {Explain(error, backend_.address), false, view_.job()};
      }
      if (SystemClock().SteadySeconds() > give_up_at_) {
        return {Explain(error.ok() ? absl::UnavailableError("") : error, backend_.address), false,
                view_.job()};
      }
      observer_.OnReconnecting();
      const auto fired = [this] { return interrupt_.fired(); };
      if (!PauseForConnection(*backend_.channel, pause_, fired)) {
        return {absl::OkStatus(), true, view_.job()};
      }
      pause_ = std::min(pause_ * 2, options_.longest_pause_seconds);
    }
  }

 private:
  void Restart() {
    pause_ = options_.first_pause_seconds;
    give_up_at_ = SystemClock().SteadySeconds() + options_.give_up_seconds;
  }

  grpc::Status WatchOnce() {
    grpc::ClientContext context;
    Interrupt::Hook hook(interrupt_, [&context] { context.TryCancel(); });
    if (interrupt_.fired()) return grpc::Status::OK;
    kbench::v1::WatchJobRequest request;
    request.set_name(name_);
    request.set_after_sequence(view_.sequence());
    auto reader = backend_.jobs->WatchJob(&context, request);
    JobEvent event;
    while (reader->Read(&event)) {
      Restart();
      Take(event);
    }
    return reader->Finish();
  }

  void Take(const JobEvent& event) {
    const std::int64_t before = view_.sequence();
    const std::vector<int> ended = view_.Apply(event);
    const bool seen = event.sequence() > 0 && event.sequence() <= before && !event.has_snapshot() &&
                      !event.has_final();
    if (!seen) observer_.OnEvent(event, view_);
    if (ended.empty()) return;
    FetchMissingResults(ended);
    for (const CaseStatus& status : view_.job().cases()) {
      if (std::find(ended.begin(), ended.end(), status.index()) != ended.end()) {
        observer_.OnCaseEnded(view_.job(), status);
      }
    }
  }

  // A snapshot may come without the results of cases that ended while nobody watched.
  void FetchMissingResults(const std::vector<int>& ended) {
    const auto& cases = view_.job().cases();
    const bool missing = std::any_of(cases.begin(), cases.end(), [&](const CaseStatus& status) {
      return status.state() == kbench::v1::JOB_STATE_SUCCEEDED && status.results_size() == 0 &&
             std::find(ended.begin(), ended.end(), status.index()) != ended.end();
    });
    if (!missing) return;
    kbench::v1::GetJobRequest request;
    request.set_name(name_);
    const auto job = Unary<Job>(backend_, [&](grpc::ClientContext* context, Job* reply) {
      return backend_.jobs->GetJob(context, request, reply);
    });
    if (job.ok()) view_.FillResults(*job);
  }

  const Backend& backend_;
  const std::string name_;
  const FollowOptions options_;
  Interrupt& interrupt_;
  JobObserver& observer_;
  JobView view_;
  double pause_ = 0;
  double give_up_at_ = 0;
};

}  // namespace

bool Passes(const absl::Status& error) {
  // A server killed in the middle of a stream may also look like UNKNOWN or INTERNAL (a reset
  // stream); with details of ours it is a real answer.
  if (error.code() == absl::StatusCode::kUnavailable) return true;
  return DetailsOf(error).reason.empty() && (error.code() == absl::StatusCode::kUnknown ||
                                             error.code() == absl::StatusCode::kInternal);
}

FollowResult Follow(const Backend& backend, const std::string& job_name,
                    const FollowOptions& options, Interrupt& interrupt, JobObserver& observer) {
  return Follower(backend, job_name, options, interrupt, observer).Run();
}

}  // namespace kbench::client
