#include "client/commands/suite_schedule.h"

#include <fmt/format.h>
#include <google/protobuf/empty.pb.h>

#include <utility>

#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/submission.h"
#include "kbench/v1/schedule_service.pb.h"
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

// What became of the newest run; why it was skipped stands beneath the table.
std::string LastText(const Schedule& schedule) {
  if (schedule.runs().empty()) return "never ran";
  const ScheduledRun& run = schedule.runs(0);
  return run.skipped().empty() ? FormatMinute(run.due_time().seconds()) : "skipped";
}

void PrintSkipped(Io& io, const Schedule& schedule) {
  if (schedule.runs().empty() || schedule.runs(0).skipped().empty()) return;
  const ScheduledRun& run = schedule.runs(0);
  io.out << Wrap(Plain(fmt::format("{}: the run of {} was skipped: {}", schedule.name(),
                                   FormatMinute(run.due_time().seconds()), run.skipped())),
                 kTableWidth, 2)
         << "\n";
}

void PrintOne(Context& context, const Schedule& schedule, bool json) {
  if (json) {
    context.io.out << "{\"schedule\":" << ToJsonLine(schedule) << "}\n";
    return;
  }
  const std::string line =
      fmt::format("{}: {}; next: {}", schedule.name(), WhenText(schedule), NextText(schedule));
  context.io.out << Wrap(Plain(line), kTableWidth, 2) << "\n";
}

// One call that answers with the schedule.
template <typename Call>
int Ask(Context& context, bool json, Call call) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  const auto schedule = Unary<Schedule>(
      *backend, [&](grpc::ClientContext* one, Schedule* out) { return call(*backend, one, out); });
  if (!schedule.ok()) return ReportError(context.io, schedule.status());
  PrintOne(context, *schedule, json);
  return kExitOk;
}

}  // namespace

int SetSchedule(Context& context, const std::string& suite, const SuitePlan& plan,
                const ScheduleOptions& options, bool json) {
  kbench::v1::SetScheduleRequest request;
  Schedule& schedule = *request.mutable_schedule();
  schedule.set_name(options.name.empty() ? suite : options.name);
  schedule.set_suite(suite);
  schedule.set_at(options.at);
  schedule.set_zone(options.zone);
  for (const std::string& day : SplitList(options.days)) schedule.add_days(day);
  for (const JobSpec& job : plan.jobs) {
    if (options.devices.empty()) *schedule.add_jobs() = job;
    for (const std::string& device : options.devices) {
      JobSpec& copy = *schedule.add_jobs() = job;
      copy.set_device(device);
    }
  }
  return Ask(context, json, [&](const Backend& backend, grpc::ClientContext* call, Schedule* out) {
    schedule.set_owner(backend.claimed_owner);
    return backend.schedules->SetSchedule(call, request, out);
  });
}

int PauseSchedule(Context& context, const std::string& name, bool paused, bool json) {
  kbench::v1::PauseScheduleRequest request;
  request.set_name(name);
  request.set_paused(paused);
  return Ask(context, json, [&](const Backend& backend, grpc::ClientContext* call, Schedule* out) {
    return backend.schedules->PauseSchedule(call, request, out);
  });
}

int DeleteSchedule(Context& context, const std::string& name) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  kbench::v1::DeleteScheduleRequest request;
  request.set_name(name);
  const auto gone = Unary<google::protobuf::Empty>(
      *backend, [&](grpc::ClientContext* call, google::protobuf::Empty* out) {
        return backend->schedules->DeleteSchedule(call, request, out);
      });
  if (!gone.ok()) return ReportError(context.io, gone.status());
  context.io.out << Plain(name) << ": no schedule any more\n";
  return kExitOk;
}

int ListSchedules(Context& context, bool json) {
  const auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  using Response = kbench::v1::ListSchedulesResponse;
  const auto listed = Unary<Response>(*backend, [&](grpc::ClientContext* call, Response* out) {
    return backend->schedules->ListSchedules(call, {}, out);
  });
  if (!listed.ok()) return ReportError(context.io, listed.status());
  if (json) {
    for (const Schedule& one : listed->schedules()) PrintOne(context, one, true);
    return kExitOk;
  }
  TextTable table{{"schedule", "owner", "when", "next", "last"}, {}, {}};
  for (const Schedule& one : listed->schedules()) {
    table.rows.push_back({Plain(one.name()), Cut(Plain(one.owner()), 12),
                          Cut(Plain(WhenText(one)), 36), NextText(one), LastText(one)});
  }
  context.io.out << (table.rows.empty() ? "no schedules\n" : table.ToString());
  for (const Schedule& one : listed->schedules()) PrintSkipped(context.io, one);
  return kExitOk;
}

}  // namespace kbench::client
