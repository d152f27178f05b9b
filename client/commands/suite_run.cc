#include "client/commands/suite_run.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <utility>

#include "client/commands/await.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/patience.h"
#include "client/suites/suite_estimate.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Job;
using kbench::v1::JobSpec;
using kbench::v1::ListDevicesResponse;

constexpr int kMostHistory = 500;  // jobs looked at
constexpr int kMostRead = 20;      // jobs of them that are read whole
constexpr int kMostQueue = 2000;

// How long the cases of the plan took before. A list of jobs tells what was measured, each job how
// long its cases took.
absl::StatusOr<CaseHistory> ReadHistory(const Backend& backend, const SuitePlan& plan,
                                        const std::set<std::string>& devices) {
  KB_ASSIGN_OR_RETURN(const auto past,
                      ReadJobs(backend, kbench::v1::JOB_STATE_SUCCEEDED, kMostHistory));
  CaseHistory history(devices);
  int read = 0;
  for (const Job& job : past) {
    if (read == kMostRead) break;
    if (!history.MayTell(job, plan.jobs)) continue;
    kbench::v1::GetJobRequest request;
    request.set_name(job.name());
    const auto whole = Unary<Job>(backend, [&](grpc::ClientContext* call, Job* reply) {
      return backend.jobs->GetJob(call, request, reply);
    });
    if (!whole.ok()) return whole.status();
    history.Add(*whole);
    ++read;
  }
  return history;
}

// What the coordinator knows of a plan.
struct Outlook {
  CaseHistory history;
  std::set<std::string> devices;
  Ahead ahead;
};

absl::StatusOr<Outlook> Ask(const Backend& backend, const SuitePlan& plan) {
  for (const JobSpec& job : plan.jobs) {
    KB_RETURN_IF_ERROR(ValidateSpec(backend, job).status());
  }
  const auto known = Unary<ListDevicesResponse>(
      backend, [&](grpc::ClientContext* call, ListDevicesResponse* reply) {
        return backend.devices->ListDevices(call, {}, reply);
      });
  if (!known.ok()) return known.status();
  Outlook outlook;
  outlook.devices = DevicesFor(*known, plan.jobs[0].device());
  KB_ASSIGN_OR_RETURN(outlook.history, ReadHistory(backend, plan, outlook.devices));
  KB_ASSIGN_OR_RETURN(std::vector<Job> waiting,
                      ReadJobs(backend, kbench::v1::JOB_STATE_QUEUED, kMostQueue));
  KB_ASSIGN_OR_RETURN(std::vector<Job> running,
                      ReadJobs(backend, kbench::v1::JOB_STATE_RUNNING, kMostQueue));
  std::move(running.begin(), running.end(), std::back_inserter(waiting));
  outlook.ahead = AheadOf(waiting, *known, outlook.devices, outlook.history);
  return outlook;
}

// "job 1: 5 cases, the best of each family and the libraries, target 2%".
std::string JobLine(std::size_t number, const JobSpec& job) {
  std::string text =
      fmt::format("job {}: {}, ", number, FormatCount(job.cases_size(), "case", "cases"));
  text += job.implementations().empty()
              ? "the best of each family and the libraries"
              : fmt::format("implementations {}", fmt::join(job.implementations(), ", "));
  if (!job.environments().empty()) {
    text += fmt::format(", environments {}", fmt::join(job.environments(), ", "));
  }
  const auto& policy = job.policy();
  if (policy.target_ratio() > 0) text += ", target " + FormatPercent(policy.target_ratio());
  if (policy.margin_ratio() > 0) text += ", margin " + FormatPercent(policy.margin_ratio());
  if (policy.has_case_budget()) {
    text += ", budget " + FormatSecondsRoughly(ToSeconds(policy.case_budget()));
  }
  return text;
}

std::string SecondsText(const JobSpec& job, const kbench::v1::CaseSpec& one,
                        const CaseHistory& history) {
  const auto seconds = history.Seconds(job, one);
  return seconds ? FormatSecondsRoughly(*seconds) : "-";
}

void PrintPlan(Io& io, const SuiteFile& file, const SuitePlan& plan, const CaseHistory& history) {
  io.out << fmt::format("{}: {} in {}\n", file.suite.name(),
                        FormatCount(plan.cases, "case", "cases"),
                        FormatCount(static_cast<long>(plan.jobs.size()), "job", "jobs"));
  TextTable table{{"job", "kernel", "dtype", "shape", "mode", "last took"}, {}, {}};
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    for (const auto& one : plan.jobs[i].cases()) {
      table.rows.push_back({fmt::format("{}", i + 1), one.kernel(), one.dtype(), ShapeOf(one),
                            one.mode().empty() ? "cold" : one.mode(),
                            SecondsText(plan.jobs[i], one, history)});
    }
  }
  io.out << table.ToString();
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    io.out << Wrap(Plain(JobLine(i + 1, plan.jobs[i])), kTableWidth, 4) << "\n";
  }
}

void PrintPlanJson(Io& io, const SuiteFile& file, const SuitePlan& plan, const Estimate& estimate,
                   const Outlook* outlook) {
  google::protobuf::Struct object;
  auto& fields = *object.mutable_fields();
  fields["suite"].set_string_value(file.suite.name());
  fields["cases"].set_number_value(plan.cases);
  fields["cases_remembered"].set_number_value(estimate.remembered);
  fields["estimated_seconds"].set_number_value(estimate.seconds);
  fields["most_seconds"].set_number_value(estimate.most_seconds);
  if (outlook != nullptr) {
    fields["wait_seconds"].set_number_value(outlook->ahead.seconds);
    fields["cases_ahead"].set_number_value(outlook->ahead.cases);
  }
  for (const JobSpec& job : plan.jobs) {
    Job planned;
    *planned.mutable_spec() = job;
    io.out << "{\"planned\":" << ToJsonLine(planned) << "}\n";
  }
  io.out << "{\"plan\":" << ToJsonLine(object) << "}\n";
}

void PrintDetached(Io& io, const std::vector<Job>& jobs, bool json) {
  for (const Job& job : jobs) {
    if (json) {
      io.out << "{\"job\":" << ToJsonLine(job) << "}\n";
    } else {
      io.out << JobId(job.name()) << "\n";
      io.err << "watch it with: kbench-client watch " << JobId(job.name()) << "\n";
    }
  }
  io.out.flush();
}

// What the coordinator took before it refused one goes on. The exit code, OK where it took all.
int SubmitPlan(Context& context, const Backend& backend, const SuitePlan& plan,
               std::vector<Job>* jobs) {
  for (const JobSpec& spec : plan.jobs) {
    const auto taken = ValidateSpec(backend, spec);
    if (!taken.ok()) return ReportError(context.io, taken.status());
  }
  for (const JobSpec& spec : plan.jobs) {
    auto job = SubmitPatiently(context, backend, spec, "", kDefaultPatienceSeconds);
    if (context.interrupt.fired()) return kExitInterrupted;
    if (!job.ok()) return ReportError(context.io, job.status());  // the queue is full, say
    jobs->push_back(*std::move(job));
  }
  return kExitOk;
}

int FollowAll(Context& context, const Backend& backend, const std::vector<Job>& jobs,
              Report& report) {
  int code = kExitOk;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Awaited awaited = AwaitJob(context, backend, jobs[i].name(), report);
    if (awaited.ended) {
      code = WorseExitCode(code, awaited.code);
      continue;
    }
    for (std::size_t rest = i + 1; rest < jobs.size(); ++rest) {
      const std::string id = JobId(jobs[rest].name());
      context.io.err << fmt::format("job {} goes on too: kbench-client watch {}\n", id, id);
    }
    return awaited.code;
  }
  return code;
}

}  // namespace

int ShowPlan(Context& context, const SuiteFile& file, const SuitePlan& plan, bool json) {
  absl::StatusOr<Outlook> outlook = absl::UnavailableError("");
  const auto backend = context.connect(context.address);
  if (backend.ok()) outlook = Ask(*backend, plan);
  const absl::Status& status = backend.ok() ? outlook.status() : backend.status();
  // Nobody there is no fault of the plan; whoever answers must take it.
  if (!status.ok() && ExitCodeOf(status) != kExitInfrastructure) {
    return ReportError(context.io, status);
  }
  const CaseHistory history = outlook.ok() ? outlook->history : CaseHistory();
  const Estimate estimate = EstimateJobs(plan.jobs, history);
  if (json) {
    PrintPlanJson(context.io, file, plan, estimate, outlook.ok() ? &*outlook : nullptr);
    return kExitOk;
  }
  PrintPlan(context.io, file, plan, history);
  const std::string wait = outlook.ok() ? AheadText(outlook->ahead, outlook->devices)
                                        : "not known: " + ErrorLines(status).front();
  context.io.out << Wrap("estimated time: " + EstimateText(estimate), kTableWidth, 4) << "\n"
                 << Wrap(Plain("wait: " + wait), kTableWidth, 4) << "\n"
                 << "nothing was submitted\n";
  return kExitOk;
}

int RunPlan(Context& context, const SuitePlan& plan, const std::string& format, bool detach) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  std::vector<Job> jobs;
  const int code = SubmitPlan(context, *backend, plan, &jobs);
  if (detach) {
    PrintDetached(context.io, jobs, format == "json");
    return code;
  }
  const auto report = MakeReport(ParseFormat(format), context.io);
  const int followed = FollowAll(context, *backend, jobs, *report);
  return code == kExitOk ? followed : code;
}

int RunPlan(Context& context, const SuitePlan& plan, Report& report,
            std::vector<std::string>* names) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  std::vector<Job> jobs;
  const int code = SubmitPlan(context, *backend, plan, &jobs);
  for (const Job& job : jobs) names->push_back(JobId(job.name()));
  const int followed = FollowAll(context, *backend, jobs, report);
  return code == kExitOk ? followed : code;
}

}  // namespace kbench::client
