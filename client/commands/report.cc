// report: many results read together.
#include <fmt/format.h>

#include <utility>

#include "client/commands/await.h"
#include "client/commands/report_epoch.h"
#include "client/commands/report_roi.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"

namespace kbench::client {
namespace {

constexpr char kCodes[] =
    "roi            CUDA, libraries, torch and Triton side by side. Markdown goes to standard\n"
    "               output unless --markdown says where.\n"
    "epoch DEVICE   its cells before and after its driver, a library, the engine or its\n"
    "               clocks changed.\n"
    "Exit codes: where it measures those of submit, of the worst row; where it reads 0;\n"
    "  2 wrong use, results that are none, or one environment only;\n"
    "  5 kbench failed, or a file cannot be written.";

class ReportVerb final : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string help() const override {
    return "Report on many results: what abstractions cost, epochs";
  }

  void Declare(Arguments& arguments) override {
    arguments.Positional("WHAT", &what_, "roi, epoch");
    arguments.Positional("DEVICE", &epoch_.device, "epoch: of this one, by its name", false);
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
    arguments.Option("--before", &epoch_.before, "EPOCH", "epoch: this one (the one before)");
    arguments.Option("--after", &epoch_.after, "EPOCH", "epoch: and this one (the newest)");
    arguments.Flag("--pinned", &epoch_.pinned, "epoch: only cells with a pinned baseline");
    DeclareFormat(arguments, &format_);
    arguments.Footer(kCodes);
  }

  int Run(Context& context) override {
    if (const std::string wrong = WrongUse(); !wrong.empty()) {
      return ReportUsage(context.io, "report: " + wrong);
    }
    if (what_ == "epoch") {
      if (!format_.empty()) epoch_.format = format_;
      return ReportEpoch(context, epoch_);
    }
    if (!suite_.empty()) roi_.suite = suite_;
    return ReportRoi(context, roi_);
  }

 private:
  std::string WrongUse() const {
    if (what_ == "epoch") return WrongUseOfEpoch();
    if (what_ != "roi") return fmt::format("there is no report {}; take roi or epoch", what_);
    const std::pair<const char*, bool> of_epoch[] = {{"DEVICE", !epoch_.device.empty()},
                                                     {"--before", !epoch_.before.empty()},
                                                     {"--after", !epoch_.after.empty()},
                                                     {"--pinned", epoch_.pinned},
                                                     {"-o", !format_.empty()}};
    for (const auto& [word, given] : of_epoch) {
      if (given) return fmt::format("{} goes with epoch, not with roi", word);
    }
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

  std::string WrongUseOfEpoch() const {
    const std::pair<const char*, bool> of_roi[] = {
        {"--suite", !suite_.empty()},   {"--device", !roi_.run.device.empty()},
        {"--quick", roi_.run.quick},    {"--label", !roi_.run.labels.empty()},
        {"--from", !roi_.from.empty()}, {"--jobs", !roi_.jobs.empty()},
        {"--html", !roi_.html.empty()}, {"--markdown", !roi_.markdown.empty()}};
    for (const auto& [option, given] : of_roi) {
      if (given) return fmt::format("{} goes with roi, not with epoch", option);
    }
    return epoch_.device.empty() ? "epoch takes a device: report epoch gpu0" : "";
  }

  std::string what_;
  std::string suite_;
  RoiOptions roi_;
  EpochOptions epoch_;
  std::string format_;
};

}  // namespace

std::unique_ptr<Command> MakeReportVerb() { return std::make_unique<ReportVerb>(); }

}  // namespace kbench::client
