// suite: measurements that belong together, from a file.
#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <chrono>
#include <set>
#include <utility>

#include "client/commands/await.h"
#include "client/commands/on_devices.h"
#include "client/commands/suite_run.h"
#include "client/commands/suite_schedule.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/submission.h"
#include "client/suites/suite_check.h"
#include "client/suites/suite_file.h"
#include "client/suites/suite_plan.h"
#include "proto/support/error.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::ListDevicesResponse;

constexpr char kScheduleHelp[] =
    "pause, continue and unschedule take the name of a schedule; schedules lists them.\n";

// A check is of the file; whether somebody answers is not worth a longer wait.
constexpr auto kAskDevices = std::chrono::seconds(5);

absl::StatusOr<ListDevicesResponse> AskDevices(const Context& context, const std::string& address) {
  KB_ASSIGN_OR_RETURN(const Backend backend, context.connect(address));
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + kAskDevices);
  ListDevicesResponse known;
  const grpc::Status status = backend.devices->ListDevices(&call, {}, &known);
  if (!status.ok()) return Explain(FromGrpc(status), backend.address);
  return known;
}

// The plan of a found suite, or why there is none.
struct Checked {
  std::string path;
  absl::StatusOr<SuiteFile> file;
  SuitePlan plan;

  bool ok() const { return file.ok() && plan.faults.empty(); }
};

Checked CheckFile(const std::string& path, const SuiteOptions& options) {
  Checked checked{path, LoadSuite(path), {}};
  if (checked.file.ok()) checked.plan = PlanSuite(*checked.file, options);
  return checked;
}

int ReportFaults(Io& io, const Checked& checked) {
  if (!checked.file.ok()) return ReportError(io, checked.file.status());
  for (const std::string& fault : checked.plan.faults) ReportUsage(io, fault);
  return kExitUsage;
}

class SuiteVerb final : public Command {
 public:
  std::string name() const override { return "suite"; }
  std::string help() const override { return "List, check and run suites of measurements"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("ACTION", &action_, "list, check, run, schedule, schedules, and as below");
    arguments.Positionals("NAME", &names_, "Suites by name; check without one: all", false);
    arguments.Option("--at", &schedule_.at, "02:00", "schedule: when, in class batch");
    arguments.Option("--zone", &schedule_.zone, "ZONE",
                     "schedule: Europe/Vienna (the coordinator's)");
    arguments.Option("--days", &schedule_.days, "mon,thu", "schedule: on these (every day)");
    arguments.Option("--as", &schedule_.name, "NAME", "schedule: another name than the suite's");
    arguments.Repeated("--file", &files_, "PATH",
                       "check, run, schedule: a suite that lies elsewhere");
    arguments.Option("--against", &against_, "ADDRESS",
                     "check: a coordinator; it must answer then");
    arguments.Option("--device", &options_.device, "NAME", "run, schedule: as submit takes it");
    arguments.Choice("--class", &class_, {"interactive", "ci", "batch"},
                     "run: as submit takes it (batch)");
    arguments.Option("--on", &on_, "A,B", "run, schedule: on each of these devices");
    arguments.Exclusive({"--on", "--device"});
    arguments.Flag("--dry-run", &dry_run_, "run: cases, time and wait; submits nothing");
    arguments.Flag("--quick", &options_.quick, "run: the same as --target 2% of submit");
    arguments.Repeated("--label", &options_.labels, "KEY=VALUE",
                       "run: a note on the jobs, beside suite=NAME");
    arguments.Flag("--detach", &detach_, "run: print the jobs' names and do not wait");
    arguments.Exclusive({"--dry-run", "--detach"});
    arguments.Exclusive({"--dry-run", "--on"});
    DeclareFormat(arguments, &format_);
    arguments.Footer(kScheduleHelp + std::string(kExitCodesHelp));
  }

  int Run(Context& context) override {
    if (const std::string wrong = WrongUse(); !wrong.empty()) {
      return ReportUsage(context.io, "suite: " + wrong);
    }
    if (!class_.empty()) options_.priority_class = class_;
    const Format format = ParseFormat(format_);
    if (action_ == "schedules") return ListSchedules(context, format);
    if (action_ == "unschedule") return DeleteSchedule(context, names_.front(), format);
    if (IsOfSchedule()) return PauseSchedule(context, names_.front(), action_ == "pause", format);
    if (action_ == "list") return PrintList(context.io);
    if (action_ == "check") return Check(context);
    return RunOne(context);
  }

 private:
  std::string WrongUse() const {
    if (!IsAction()) {
      return fmt::format(
          "take list, check, run, schedule, schedules, pause, continue or unschedule, not {}",
          action_);
    }
    const bool schedules = action_ == "schedule";
    if (schedules != !schedule_.at.empty()) {
      return schedules ? "schedule needs a time of the day: --at 02:00" : "--at goes with schedule";
    }
    if (!schedules && !(schedule_.zone + schedule_.days + schedule_.name).empty()) {
      return "--zone, --days and --as go with schedule";
    }
    if (schedules && (dry_run_ || detach_ || !class_.empty())) {
      return "schedule runs in class batch, later: without --class, --dry-run and --detach";
    }
    if (action_ != "run" && !schedules) {
      const std::pair<const char*, bool> of_run[] = {{"--device", !options_.device.empty()},
                                                     {"--class", !class_.empty()},
                                                     {"--on", !on_.empty()},
                                                     {"--dry-run", dry_run_},
                                                     {"--quick", options_.quick},
                                                     {"--label", !options_.labels.empty()},
                                                     {"--detach", detach_}};
      for (const auto& [option, given] : of_run) {
        if (given) return fmt::format("{} goes with run, not with {}", option, action_);
      }
    }
    if (action_ != "check" && !against_.empty()) return "--against goes with check";
    return WrongNumber();
  }

  bool IsAction() const {
    static const std::set<std::string> actions = {"list",      "check", "run",      "schedule",
                                                  "schedules", "pause", "continue", "unschedule"};
    return actions.count(action_) > 0;
  }
  // Of what is there already, by its name.
  bool IsOfSchedule() const {
    return action_ == "pause" || action_ == "continue" || action_ == "unschedule";
  }

  std::string WrongNumber() const {
    const std::size_t count = names_.size() + files_.size();
    if (action_ == "schedules" && count > 0) return "schedules takes no name: it lists all";
    if (IsOfSchedule() && (names_.size() != 1 || !files_.empty())) {
      return fmt::format("{} takes the name of one schedule", action_);
    }
    if (action_ == "schedule" && count != 1) {
      return fmt::format("schedule takes one suite, a NAME or --file PATH, not {}", count);
    }
    if (action_ == "list" && count > 0) return "list takes no name: it lists all";
    if (action_ == "run" && count != 1) {
      return fmt::format("run takes one suite, a NAME or --file PATH, not {}", count);
    }
    const bool csv = format_ == "csv" || format_ == "markdown";
    if (action_ == "check" && format_ != "table") return "check prints lines, without -o";
    if (action_ == "list" && csv) return "list prints a table or json, not " + format_;
    if (dry_run_ && csv) return "--dry-run prints a table or json, not " + format_;
    return "";
  }

  static google::protobuf::Struct ListedJson(const FoundSuite& one, const Checked& checked) {
    google::protobuf::Struct object;
    auto& fields = *object.mutable_fields();
    fields["name"].set_string_value(one.name);
    fields["where"].set_string_value(one.where);
    fields["path"].set_string_value(one.path);
    fields["good"].set_bool_value(checked.ok());
    if (!one.hides.empty()) fields["hides"].set_string_value(one.hides);
    if (!checked.ok()) return object;
    fields["entries"].set_number_value(checked.file->suite.entries_size());
    fields["cases"].set_number_value(checked.plan.cases);
    fields["jobs"].set_number_value(static_cast<double>(checked.plan.jobs.size()));
    fields["summary"].set_string_value(checked.file->suite.summary());
    return object;
  }

  static std::vector<std::string> ListedRow(const FoundSuite& one, const Checked& checked) {
    if (!checked.ok()) {
      return {one.name, "-", "-", one.where, "broken: see kbench-client suite check " + one.name};
    }
    return {one.name, fmt::format("{}", checked.file->suite.entries_size()),
            fmt::format("{}", checked.plan.cases), one.where,
            Cut(checked.file->suite.summary(), 46)};
  }

  int PrintList(Io& io) const {
    const std::vector<SuiteFolder> folders = SuiteFolders();
    TextTable table{{"suite", "entries", "cases", "from", "summary"}, {}, {false, true, true}};
    std::string notes;
    for (const FoundSuite& one : FindSuites(folders)) {
      const Checked checked = CheckFile(one.path, {});
      if (format_ == "json") {
        io.out << "{\"suite\":" << ToJsonLine(ListedJson(one, checked)) << "}\n";
        continue;
      }
      table.rows.push_back(ListedRow(one, checked));
      if (!one.hides.empty()) notes += fmt::format("{}: hides {}\n", one.path, one.hides);
    }
    if (format_ == "json") return kExitOk;
    io.out << (table.rows.empty() ? "no suites\n" : table.ToString()) << notes;
    for (const SuiteFolder& folder : folders) io.out << folder.word << ": " << folder.path << "\n";
    return kExitOk;
  }

  // The files to look at.
  absl::StatusOr<std::vector<std::string>> Paths() const {
    const std::vector<SuiteFolder> folders = SuiteFolders();
    std::vector<std::string> paths = files_;
    for (const std::string& name : names_) {
      KB_ASSIGN_OR_RETURN(const FoundSuite found, FindSuite(folders, name));
      paths.push_back(found.path);
    }
    if (!paths.empty() || action_ != "check") return paths;
    for (const FoundSuite& one : FindSuites(folders)) {
      paths.push_back(one.path);
      if (!one.hides.empty()) paths.push_back(one.hides);
    }
    return paths;
  }

  int Check(Context& context) const {
    const auto paths = Paths();
    if (!paths.ok()) return ReportError(context.io, paths.status());
    const auto known = AskDevices(context, against_.empty() ? context.address : against_);
    if (!known.ok() && !against_.empty()) return ReportError(context.io, known.status());
    int code = kExitOk;
    bool any_good = false;
    for (const std::string& path : *paths) {
      const Checked checked = CheckFile(path, {});
      if (!checked.ok()) {
        code = ReportFaults(context.io, checked);
        continue;
      }
      any_good = true;
      PrintGood(context.io, checked);
      if (!known.ok()) continue;
      for (const std::string& line : MissingOnDevices(checked.file->suite, *known)) {
        context.io.out << "  " << Wrap(Plain(line), kTableWidth - 2, 4) << "\n";
      }
    }
    context.io.out.flush();
    if (!known.ok() && any_good) {
      context.io.err << "no coordinator answers: whether devices have it all was not checked\n";
    }
    return code;
  }

  static void PrintGood(Io& io, const Checked& checked) {
    io.out << fmt::format("{}: good, {} in {}\n", Plain(checked.path),
                          FormatCount(checked.plan.cases, "case", "cases"),
                          FormatCount(static_cast<long>(checked.plan.jobs.size()), "job", "jobs"));
  }

  int RunOne(Context& context) const {
    // Its own words, not those of an entry.
    const auto labels = BuildSpec({.labels = options_.labels});
    if (!labels.ok()) return ReportError(context.io, labels.status());
    const auto paths = Paths();
    if (!paths.ok()) return ReportError(context.io, paths.status());
    const Checked checked = CheckFile(paths->front(), options_);
    if (!checked.ok()) return ReportFaults(context.io, checked);
    if (action_ == "schedule") return Schedule(context, checked);
    if (dry_run_) return ShowPlan(context, *checked.file, checked.plan, format_ == "json");
    if (!on_.empty()) return RunOn(context, checked.plan);
    return RunPlan(context, checked.plan, format_, detach_);
  }

  int Schedule(Context& context, const Checked& checked) const {
    ScheduleOptions options = schedule_;
    if (!on_.empty()) {
      // One is no comparison, which `run --on` is for, and a schedule all the same.
      const bool one = on_.find(',') == std::string::npos;
      auto devices =
          one ? absl::StatusOr<std::vector<std::string>>(std::vector{on_}) : ParseOn(on_);
      if (!devices.ok()) return ReportError(context.io, devices.status());
      options.devices = *std::move(devices);
    }
    return SetSchedule(context, checked.file->suite.name(), checked.plan, options,
                       ParseFormat(format_));
  }

  int RunOn(Context& context, const SuitePlan& plan) const {
    const auto devices = ParseOn(on_);
    if (!devices.ok()) return ReportError(context.io, devices.status());
    const auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    return RunOnDevices(context, *backend, plan.jobs, *devices, format_, detach_).code;
  }

  std::string action_;
  std::vector<std::string> names_;
  std::vector<std::string> files_;
  std::string against_;
  SuiteOptions options_;
  std::string on_;
  ScheduleOptions schedule_;
  std::string format_ = "table";
  std::string class_;
  bool dry_run_ = false;
  bool detach_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSuite() { return std::make_unique<SuiteVerb>(); }

}  // namespace kbench::client
