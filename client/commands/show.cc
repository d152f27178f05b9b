// show: one job as it is now, with the results it has.
#include <fmt/format.h>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/job_view.h"
#include "client/output/cells.h"
#include "client/output/comparison.h"
#include "client/output/progress.h"
#include "client/output/text_table.h"
#include "client/output/words.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;

std::string Headline(const Job& job) {
  std::string text = fmt::format("job {}: {}", JobId(job.name()), StateWord(job.state()));
  if (!job.message().empty()) {
    text += ": " + job.message();
  } else if (!job.reason().empty()) {
    text += ": " + job.reason();
  }
  const bool waits = job.state() == kbench::v1::JOB_STATE_QUEUED;
  if (waits && job.reason().empty()) {
    text += ", " + PlaceText(job, static_cast<double>(SystemClock().WallMicros()) * 1e-6);
  } else if (!IsFinal(job.state()) && job.queue_position() > 0) {
    text += fmt::format(", {} ahead", job.queue_position());
  }
  if (job.cases_size() > 1) {
    text += fmt::format(" ({} of {} cases done)", job.cases_done(), job.cases_size());
  }
  return text;
}

class Show final : public Command {
 public:
  std::string name() const override { return "show"; }
  std::string help() const override { return "Show a job and its results"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "As submit or list printed it");
    DeclareFormat(arguments, &format_);
    arguments.Flag("-v,--verbose", &verbose_,
                   "How each row ran: tile, tuning, registers, spills ...");
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    kbench::v1::GetJobRequest request;
    request.set_name(JobName(job_));
    const auto job = Unary<Job>(*backend, [&](grpc::ClientContext* call, Job* reply) {
      return backend->jobs->GetJob(call, request, reply);
    });
    if (!job.ok()) return ReportError(context.io, job.status());
    Print(context.io, *job);
    return kExitOk;
  }

 private:
  void Print(Io& io, const Job& job) const {
    const Format format = ParseFormat(format_);
    if (format == Format::kTable) io.out << Wrap(Headline(job), kTableWidth, 2) << "\n\n";
    if (format == Format::kJson) {
      Job slim = job;
      for (CaseStatus& status : *slim.mutable_cases()) status.clear_results();
      io.out << "{\"job\":" << ToJsonLine(slim) << "}\n";
    }
    const std::unique_ptr<Report> report = MakeReport(format, io);
    for (const CaseStatus& status : job.cases()) {
      // The table says of every case where it stands; the others hold results only.
      if (IsFinal(status.state()) || format == Format::kTable) report->CaseEnded(job, status);
      if (format == Format::kTable) PrintNames(io, status);
      if (format != Format::kTable || !verbose_) continue;
      for (const std::string& detail : CaseDetails(status)) {
        io.out << Wrap(detail, kTableWidth, 2) << "\n";
      }
    }
  }

  // What `compare` takes.
  static void PrintNames(Io& io, const CaseStatus& status) {
    std::string names;
    for (const auto& result : status.results()) {
      if (!HasNumber(result) || result.name().empty()) continue;
      names += (names.empty() ? "Results: " : ", ") + ShortResultName(result.name()) + " " +
               result.implementation();
    }
    if (!names.empty()) io.out << Wrap(names, kTableWidth, 2) << "\n";
  }

  std::string job_;
  std::string format_ = "table";
  bool verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeShow() { return std::make_unique<Show>(); }

}  // namespace kbench::client
