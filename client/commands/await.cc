#include "client/commands/await.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/errors.h"
#include "client/exit_code.h"
#include "client/follow.h"
#include "client/output/progress.h"
#include "client/output/text_table.h"
#include "client/output/words.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::JobEvent;

constexpr int kJobsOfPage = 200;

class Awaiter final : public JobObserver {
 public:
  Awaiter(Io& io, Report& report) : report_(report), progress_(io) {}

  void OnEvent(const JobEvent& event, const JobView& view) override {
    report_.Event(event);
    progress_.Show(ProgressText(view));
  }

  void OnCaseEnded(const Job& job, const CaseStatus& status) override {
    progress_.Erase();  // the row of a table must not start behind it
    report_.CaseEnded(job, status);
  }

  void OnReconnecting() override { progress_.Show("the coordinator is away: reconnecting ..."); }

  void Done() { progress_.Erase(); }

 private:
  Report& report_;
  ProgressLine progress_;
};

void ExplainEnd(Io& io, const Job& job) {
  if (job.state() == kbench::v1::JOB_STATE_SUCCEEDED) return;
  std::string why = job.message().empty() ? job.reason() : job.message();
  if (!why.empty()) why = ": " + Plain(why);
  io.err << "kbench-client: job " << JobId(job.name()) << " ended " << StateWord(job.state()) << why
         << std::endl;
}

}  // namespace

Awaited AwaitJob(Context& context, const Backend& backend, const std::string& job_name,
                 Report& report) {
  Awaiter awaiter(context.io, report);
  const FollowResult result = Follow(backend, job_name, {}, context.interrupt, awaiter);
  awaiter.Done();
  const std::string id = JobId(job_name);
  if (result.interrupted) {
    context.io.err << fmt::format("job {} goes on; resume with: kbench-client watch {}\n", id, id)
                   << std::flush;
    return {kExitInterrupted, false, result.job};
  }
  if (!result.status.ok()) {
    const int code = ReportError(context.io, result.status);
    if (!result.job.name().empty()) {
      context.io.err << fmt::format(
          "kbench-client: job {} is kept; resume with: kbench-client watch {}\n", id, id);
    }
    return {code, false, result.job};
  }
  report.JobEnded(result.job);
  ExplainEnd(context.io, result.job);
  return {ExitCodeOf(result.job), true, result.job};
}

Awaited AwaitJob(Context& context, const Backend& backend, const std::string& job_name,
                 Format format) {
  return AwaitJob(context, backend, job_name, *MakeReport(format, context.io));
}

absl::StatusOr<Job> SubmitSpec(const Backend& backend, kbench::v1::JobSpec spec,
                               const std::string& request_id) {
  kbench::v1::SubmitJobRequest request;
  *request.mutable_spec() = std::move(spec);
  request.set_request_id(request_id.empty() ? RandomUuid() : request_id);
  request.set_owner(backend.claimed_owner);
  return Unary<Job>(backend, [&](grpc::ClientContext* call, Job* reply) {
    return backend.jobs->SubmitJob(call, request, reply);
  });
}

absl::StatusOr<Job> ValidateSpec(const Backend& backend, kbench::v1::JobSpec spec) {
  kbench::v1::SubmitJobRequest request;
  *request.mutable_spec() = std::move(spec);
  request.set_validate_only(true);
  request.set_owner(backend.claimed_owner);
  return Unary<Job>(backend, [&](grpc::ClientContext* call, Job* reply) {
    return backend.jobs->SubmitJob(call, request, reply);
  });
}

absl::StatusOr<std::vector<Job>> ReadJobs(const Backend& backend, kbench::v1::JobState state,
                                          int most) {
  using kbench::v1::ListJobsResponse;
  std::vector<Job> jobs;
  kbench::v1::ListJobsRequest request;
  request.set_state(state);
  do {
    request.set_page_size(std::min(kJobsOfPage, most - static_cast<int>(jobs.size())));
    const auto page =
        Unary<ListJobsResponse>(backend, [&](grpc::ClientContext* call, ListJobsResponse* reply) {
          return backend.jobs->ListJobs(call, request, reply);
        });
    if (!page.ok()) return page.status();
    jobs.insert(jobs.end(), page->jobs().begin(), page->jobs().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && static_cast<int>(jobs.size()) < most);
  return jobs;
}

void DeclareFormat(Arguments& arguments, std::string* format,
                   const std::vector<std::string>& names) {
  arguments.Choice("-o,--output", format, names, "How to print");
}

}  // namespace kbench::client
