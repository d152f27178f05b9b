#include "client/commands/report_roi.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "client/commands/await.h"
#include "client/commands/suite_run.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/job_view.h"
#include "client/output/words.h"
#include "client/report/model.h"
#include "client/report/results_file.h"
#include "client/report/roi_document.h"
#include "client/submission.h"
#include "client/suites/suite_estimate.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::ListDevicesResponse;
using kbench::v1::Result;

// Keeps the rows as they come; a row that comes again is the one that counts.
class Collector final : public Report {
 public:
  void CaseEnded(const Job&, const CaseStatus& status) override {
    rows.insert(rows.end(), status.results().begin(), status.results().end());
  }
  void JobEnded(const Job& job) override {
    for (const CaseStatus& status : job.cases()) CaseEnded(job, status);
    jobs.push_back(job);
  }

  std::vector<Result> rows;
  std::vector<Job> jobs;  // that have ended
};

// As a shell takes it.
std::string Quoted(const std::string& word) {
  std::string quoted;
  bool plain = !word.empty();
  for (const char c : word) {
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                      std::strchr("-_./,:=@%+", c) != nullptr);
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return plain ? word : "'" + quoted + "'";
}

// Told before minutes are spent on measuring.
absl::Status CanWrite(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const std::ofstream file(path, std::ios::app);
  if (file) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

absl::Status Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

std::string SizeText(std::size_t bytes) { return fmt::format("{} KB", (bytes + 999) / 1000); }

class Roi {
 public:
  Roi(Context& context, const RoiOptions& options) : context_(context), options_(options) {}

  int Run() {
    for (const std::string& path : {options_.html, options_.markdown}) {
      if (const auto status = CanWrite(path); !status.ok()) {
        ReportError(context_.io, status);
        return kExitInfrastructure;
      }
    }
    int code = kExitOk;
    if (!options_.from.empty()) {
      auto read = LoadResults(options_.from);
      if (!read.ok()) return ReportError(context_.io, read.status());
      rows_ = *std::move(read);
      source_.same = "kbench-client report roi --from " + Quoted(options_.from);
    } else {
      code = options_.jobs.empty() ? Measure() : ReadJobs();
      if (rows_.empty()) return code;
      source_.same = fmt::format("kbench-client report roi --jobs {}", fmt::join(jobs_, ","));
    }
    const int drawn = Draw();
    return drawn == kExitOk ? code : drawn;
  }

 private:
  // One device for all cases: a report is of one.
  absl::Status ChooseDevice(std::string* device) {
    KB_ASSIGN_OR_RETURN(const Backend backend, context_.connect(context_.address));
    KB_ASSIGN_OR_RETURN(const auto known,
                        (Unary<ListDevicesResponse>(
                            backend, [&](grpc::ClientContext* call, ListDevicesResponse* reply) {
                              return backend.devices->ListDevices(call, {}, reply);
                            })));
    const std::set<std::string> fit = DevicesFor(known, *device);
    if (fit.size() < 2) return absl::OkStatus();
    *device = *fit.begin();
    for (const auto& one : known.devices()) {
      if (one.state() != "READY" || fit.count(one.name()) == 0) continue;
      *device = one.name();
      break;
    }
    context_.io.err << fmt::format("measuring on {}, one of {}; choose with --device\n", *device,
                                   fmt::join(fit, ", "));
    return absl::OkStatus();
  }

  int Measure() {
    const auto found = FindSuite(SuiteFolders(), options_.suite);
    if (!found.ok()) return ReportError(context_.io, found.status());
    const auto file = LoadSuite(found->path);
    if (!file.ok()) return ReportError(context_.io, file.status());
    SuiteOptions run = options_.run;
    if (const auto status = ChooseDevice(&run.device); !status.ok()) {
      return ReportError(context_.io, status);
    }
    const SuitePlan plan = PlanSuite(*file, run);
    for (const std::string& fault : plan.faults) ReportUsage(context_.io, fault);
    if (!plan.faults.empty()) return kExitUsage;
    Collector collector;
    const int code = RunPlan(context_, plan, collector, &jobs_);
    if (code == kExitInterrupted && !jobs_.empty()) {
      context_.io.err << fmt::format("when they have ended: kbench-client report roi --jobs {}\n",
                                     fmt::join(jobs_, ","));
      return code;
    }
    for (const Job& job : collector.jobs) NoteEnd(job);
    rows_ = std::move(collector.rows);
    return code;
  }

  int ReadJobs() {
    const auto backend = context_.connect(context_.address);
    if (!backend.ok()) return ReportError(context_.io, backend.status());
    for (const std::string& name : SplitList(options_.jobs)) {
      kbench::v1::GetJobRequest request;
      request.set_name(JobName(name));
      const auto job = Unary<Job>(*backend, [&](grpc::ClientContext* call, Job* reply) {
        return backend->jobs->GetJob(call, request, reply);
      });
      if (!job.ok()) return ReportError(context_.io, job.status());
      jobs_.push_back(JobId(job->name()));
      NoteEnd(*job);
      for (const CaseStatus& status : job->cases()) {
        rows_.insert(rows_.end(), status.results().begin(), status.results().end());
      }
    }
    if (!rows_.empty()) return kExitOk;
    return ReportUsage(context_.io,
                       fmt::format("report: --jobs {}: they have no results yet", options_.jobs));
  }

  void NoteEnd(const Job& job) {
    if (job.state() == kbench::v1::JOB_STATE_SUCCEEDED) return;
    int done = 0;
    for (const CaseStatus& status : job.cases()) done += IsFinal(status.state()) ? 1 : 0;
    source_.notes.push_back(fmt::format("Job {} {} {}: {} of {} cases have ended.",
                                        JobId(job.name()),
                                        IsFinal(job.state()) ? "ended" : "is still",
                                        StateWord(job.state()), done, job.cases_size()));
  }

  // The same run anew.
  std::string AgainText(const std::string& device) const {
    std::string text = "kbench-client report roi";
    if (options_.suite != RoiOptions().suite) text += " --suite " + Quoted(options_.suite);
    if (!device.empty()) text += " --device " + Quoted(device);
    if (options_.run.quick) text += " --quick";
    return text + " --html roi.html > roi.md";
  }

  int Draw() {
    const auto model = BuildRoi(rows_, DeviceAsRead());
    if (!model.ok()) return ReportError(context_.io, model.status());
    source_.again = AgainText((*model)->evidence.device);
    if (!options_.run.device.empty() && !DeviceAsRead().empty()) {
      source_.same += " --device " + Quoted(options_.run.device);
    }
    const Document document = RoiDocument(**model, source_);
    if (!options_.html.empty()) {
      const std::string page = ToHtml(document);
      if (const int code = WriteOut(options_.html, page); code != kExitOk) return code;
    }
    const std::string text = ToMarkdown(document);
    if (!options_.markdown.empty()) return WriteOut(options_.markdown, text);
    context_.io.out << text << std::flush;
    return kExitOk;
  }

  // What was just measured is of one device already, whatever word chose it.
  std::string DeviceAsRead() const {
    return options_.from.empty() && options_.jobs.empty() ? "" : options_.run.device;
  }

  int WriteOut(const std::string& path, const std::string& text) {
    if (const auto status = Write(path, text); !status.ok()) {
      ReportError(context_.io, status);
      return kExitInfrastructure;
    }
    context_.io.err << fmt::format("{}: {}\n", path, SizeText(text.size()));
    return kExitOk;
  }

  Context& context_;
  const RoiOptions& options_;
  std::vector<Result> rows_;
  std::vector<std::string> jobs_;
  RoiSource source_;
};

}  // namespace

int ReportRoi(Context& context, const RoiOptions& options) { return Roi(context, options).Run(); }

}  // namespace kbench::client
