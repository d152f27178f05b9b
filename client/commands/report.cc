// report: many results read together.
#include <fmt/format.h>

#include "client/commands/report_roi.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"

namespace kbench::client {
namespace {

constexpr char kCodes[] =
    "Markdown goes to standard output unless --markdown says where.\n"
    "Exit codes: where it measures those of submit, of the worst row; where it reads 0;\n"
    "  2 wrong use, or results that are none;  5 a file cannot be written.";

class ReportVerb final : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string help() const override { return "Report on many results: what abstractions cost"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("WHAT", &what_, "roi: CUDA, libraries, torch and Triton side by side");
    arguments.Option("--suite", &suite_, "NAME", "Measure this suite (abstraction-roi)");
    arguments.Option("--device", &roi_.run.device, "NAME",
                     "Measure there; with --from, --jobs: results of it");
    arguments.Flag("--quick", &roi_.run.quick, "The same as --target 2% of submit");
    arguments.Repeated("--label", &roi_.run.labels, "KEY=VALUE", "A note on the jobs");
    arguments.Option("--from", &roi_.from, "FILE",
                     "Read results that -o json wrote (-: standard input)");
    arguments.Option("--jobs", &roi_.jobs, "A,B", "Read the results of jobs that have run");
    arguments.Option("--html", &roi_.html, "FILE", "Write the page there too");
    arguments.Option("--markdown", &roi_.markdown, "FILE", "Write Markdown there");
    arguments.Footer(kCodes);
  }

  int Run(Context& context) override {
    if (const std::string wrong = WrongUse(); !wrong.empty()) {
      return ReportUsage(context.io, "report: " + wrong);
    }
    if (!suite_.empty()) roi_.suite = suite_;
    return ReportRoi(context, roi_);
  }

 private:
  std::string WrongUse() const {
    if (what_ != "roi") return fmt::format("there is no report {}; take roi", what_);
    if (!roi_.from.empty() && !roi_.jobs.empty()) return "takes --from or --jobs, not both";
    const std::pair<const char*, bool> measuring[] = {{"--suite", !suite_.empty()},
                                                      {"--quick", roi_.run.quick},
                                                      {"--label", !roi_.run.labels.empty()}};
    const bool reads = !roi_.from.empty() || !roi_.jobs.empty();
    for (const auto& [option, given] : measuring) {
      if (given && reads) {
        return fmt::format("{} is for measuring, which {} does not", option,
                           roi_.from.empty() ? "--jobs" : "--from");
      }
    }
    return "";
  }

  std::string what_;
  std::string suite_;
  RoiOptions roi_;
};

}  // namespace

std::unique_ptr<Command> MakeReportVerb() { return std::make_unique<ReportVerb>(); }

}  // namespace kbench::client
