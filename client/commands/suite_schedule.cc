#include "client/commands/suite_schedule.h"

#include <fmt/format.h>
#include <google/protobuf/empty.pb.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "client/default_target.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/cell_text.h"
#include "client/output/cell_words.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "client/submission.h"
#include "kbench/v1/schedule_service.pb.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::JobSpec;
using kbench::v1::Schedule;
using kbench::v1::ScheduledRun;

std::string DaysText(const Schedule& schedule) {
  return schedule.days().empty() ? "every day" : fmt::format("{}", fmt::join(schedule.days(), ","));
}

std::string WhenText(const Schedule& schedule) {
  std::string text = schedule.at() + " " + DaysText(schedule);
  if (!schedule.zone().empty()) text += ", " + schedule.zone();
  return text;
}

std::string NextText(const Schedule& schedule) {
  if (schedule.paused()) return "paused";
  return schedule.has_next_time() ? FormatMinute(schedule.next_time().seconds()) : "-";
}

// What became of a run, in a word.
std::string EndText(const ScheduledRun& run) {
  if (!run.skipped().empty()) return "skipped";
  return run.state() == kbench::v1::JOB_STATE_UNSPECIFIED ? "ran" : StateWord(run.state());
}

std::string LastText(const Schedule& schedule) {
  return schedule.runs().empty() ? "never ran" : EndText(schedule.runs(0));
}

std::vector<std::string> DevicesOf(const Schedule& schedule) {
  std::vector<std::string> devices;
  for (const JobSpec& job : schedule.jobs()) {
    if (!job.device().empty()) devices.push_back(job.device());
  }
  return devices;
}

// What has no room in the table: what runs where, and the newest run.
std::string Note(const Schedule& schedule) {
  const std::vector<std::string> devices = DevicesOf(schedule);
  std::string text = fmt::format(
      "{}: suite {} on {}", schedule.name(), schedule.suite(),
      devices.empty() ? "the default device" : fmt::format("{}", fmt::join(devices, ", ")));
  if (schedule.runs().empty()) return text;
  const ScheduledRun& run = schedule.runs(0);
  text += fmt::format("; the run of {}: {}", FormatMinute(run.due_time().seconds()), EndText(run));
  if (!run.skipped().empty()) return text + ", " + run.skipped();
  std::vector<std::string> jobs;
  for (const std::string& job : run.jobs()) jobs.push_back(JobId(job));
  return text + fmt::format(" ({})", fmt::join(jobs, ", "));
}

const std::vector<std::string>& Header() {
  static const std::vector<std::string> header = {"schedule", "owner", "when", "next (here)",
                                                  "last run"};
  return header;
}

std::vector<std::string> RowOf(const Schedule& one) {
  return {one.name(), one.owner(), WhenText(one), NextText(one), LastText(one)};
}

void PrintTable(Io& io, const std::vector<Schedule>& schedules) {
  TextTable table{Header(), {}, {}};
  for (const Schedule& one : schedules) {
    std::vector<std::string> row = RowOf(one);
    table.rows.push_back(
        {Plain(row[0]), Cut(Plain(row[1]), 12), Cut(Plain(row[2]), 30), row[3], row[4]});
  }
  io.out << (table.rows.empty() ? "no schedules\n" : table.ToString());
  for (const Schedule& one : schedules) io.out << Wrap(Plain(Note(one)), kTableWidth, 2) << "\n";
}

void PrintMarkdown(Io& io, const std::vector<Schedule>& schedules) {
  io.out << MarkdownRow(Header()) << "|:--|:--|:--|:--|:--|\n";
  for (const Schedule& one : schedules) io.out << MarkdownRow(RowOf(one));
  for (const Schedule& one : schedules) io.out << "\n" << MarkdownText(Note(one)) << "\n";
}

void PrintCsv(Io& io, const std::vector<Schedule>& schedules) {
  io.out << "schedule,owner,suite,devices,at,days,zone,paused,next_time,interval_seconds,"
            "last_due_time,last_state,last_jobs,last_skipped\r\n";
  for (const Schedule& one : schedules) {
    const ScheduledRun run = one.runs().empty() ? ScheduledRun() : one.runs(0);
    io.out << CsvLine({one.name(), one.owner(), one.suite(),
                       fmt::format("{}", fmt::join(DevicesOf(one), " ")), one.at(),
                       fmt::format("{}", fmt::join(one.days(), " ")), one.zone(),
                       one.paused() ? "true" : "false", IsoTime(one.next_time()),
                       CsvNumber(one.interval_seconds()), IsoTime(run.due_time()),
                       one.runs().empty() ? "" : EndText(run),
                       fmt::format("{}", fmt::join(run.jobs(), " ")), run.skipped()});
  }
}

void PrintSchedules(Io& io, Format format, const std::vector<Schedule>& schedules) {
  switch (format) {
    case Format::kJson:
      for (const Schedule& one : schedules) {
        io.out << "{\"schedule\":" << ToJsonLine(one) << "}\n";
      }
      break;
    case Format::kCsv:
      PrintCsv(io, schedules);
      break;
    case Format::kMarkdown:
      PrintMarkdown(io, schedules);
      break;
    default:
      PrintTable(io, schedules);
  }
  io.out.flush();
}

void PrintOne(Context& context, const Schedule& schedule, Format format) {
  if (format != Format::kTable) return PrintSchedules(context.io, format, {schedule});
  const std::string line =
      fmt::format("{}: {}; next: {}", schedule.name(), WhenText(schedule), NextText(schedule));
  context.io.out << Wrap(Plain(line), kTableWidth, 2) << "\n";
}

// Whether the metrics and the history take up what the job measures.
bool FeedsHistory(const JobSpec& job) {
  const auto& policy = job.policy();
  const bool precise = policy.target_ratio() == 0 || policy.target_ratio() == kDefaultTarget;
  return precise && (policy.flush().empty() || policy.flush() == "clean");
}

// One call that answers with the schedule.
template <typename Call>
int Ask(Context& context, Format format, Call call) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  const auto schedule = Unary<Schedule>(
      *backend, [&](grpc::ClientContext* one, Schedule* out) { return call(*backend, one, out); });
  if (!schedule.ok()) return ReportError(context.io, schedule.status());
  PrintOne(context, *schedule, format);
  return kExitOk;
}

}  // namespace

int SetSchedule(Context& context, const std::string& suite, const SuitePlan& plan,
                const ScheduleOptions& options, Format format) {
  kbench::v1::SetScheduleRequest request;
  Schedule& schedule = *request.mutable_schedule();
  schedule.set_name(options.name.empty() ? suite : options.name);
  schedule.set_suite(suite);
  schedule.set_at(options.at);
  schedule.set_zone(options.zone);
  for (std::string day : SplitList(options.days)) {
    for (char& c : day) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    schedule.add_days(std::move(day));
  }
  for (const JobSpec& job : plan.jobs) {
    if (options.devices.empty()) *schedule.add_jobs() = job;
    for (const std::string& device : options.devices) {
      JobSpec& copy = *schedule.add_jobs() = job;
      copy.set_device(device);
    }
  }
  const int code =
      Ask(context, format, [&](const Backend& backend, grpc::ClientContext* call, Schedule* out) {
        schedule.set_owner(backend.claimed_owner);
        return backend.schedules->SetSchedule(call, request, out);
      });
  if (code == kExitOk && !std::all_of(plan.jobs.begin(), plan.jobs.end(), FeedsHistory)) {
    context.io.err << Wrap(
                          "note: some of it is not measured at default precision and flush: those "
                          "results are on no dashboard, and no regression is found in them",
                          kTableWidth, 2)
                   << std::endl;
  }
  return code;
}

int PauseSchedule(Context& context, const std::string& name, bool paused, Format format) {
  kbench::v1::PauseScheduleRequest request;
  request.set_name(name);
  request.set_paused(paused);
  return Ask(context, format,
             [&](const Backend& backend, grpc::ClientContext* call, Schedule* out) {
               return backend.schedules->PauseSchedule(call, request, out);
             });
}

int DeleteSchedule(Context& context, const std::string& name, Format format) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  kbench::v1::DeleteScheduleRequest request;
  request.set_name(name);
  const auto gone = Unary<google::protobuf::Empty>(
      *backend, [&](grpc::ClientContext* call, google::protobuf::Empty* out) {
        return backend->schedules->DeleteSchedule(call, request, out);
      });
  if (!gone.ok()) return ReportError(context.io, gone.status());
  switch (format) {
    case Format::kJson:
      context.io.out << "{\"unscheduled\":\"" << name << "\"}\n";  // a plain name
      break;
    case Format::kCsv:
      context.io.out << "unscheduled\r\n" << CsvLine({name});
      break;
    default:
      context.io.out << Plain(name) << ": no schedule any more\n";
  }
  return kExitOk;
}

int ListSchedules(Context& context, Format format) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  using Response = kbench::v1::ListSchedulesResponse;
  const auto listed = Unary<Response>(*backend, [&](grpc::ClientContext* call, Response* out) {
    return backend->schedules->ListSchedules(call, {}, out);
  });
  if (!listed.ok()) return ReportError(context.io, listed.status());
  PrintSchedules(context.io, format, {listed->schedules().begin(), listed->schedules().end()});
  return kExitOk;
}

}  // namespace kbench::client
