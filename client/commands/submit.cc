// submit: measure something.
#include <optional>

#include "client/commands/await.h"
#include "client/commands/measure_options.h"
#include "client/commands/on_devices.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/fail_on.h"
#include "client/job_view.h"
#include "client/output/progress.h"
#include "client/output/text_table.h"
#include "client/output/time_range.h"
#include "client/patience.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Job;

class Submit final : public Command {
 public:
  std::string name() const override { return "submit"; }
  std::string help() const override { return "Measure a kernel: submit matmul fp16 4096"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("KERNEL", &options_.what.kernels,
                         "matmul, sum ... or a list: sum,softmax");
    arguments.Positional("DTYPE", &options_.what.dtypes, "fp32, tf32, fp16 ... or a list");
    arguments.Positionals("SIZE", &options_.what.sizes,
                          "4096, 64Mi, 2^26, m=1,n=4096,k=4096, a range: 1Ki..64Mi*2");
    options_.Declare(arguments);
    arguments.Option("--on", &on_, "A,B", "One job on each of these devices, side by side");
    arguments.Exclusive({"--on", "--device"});
    DeclareFailOn(arguments, &fail_on_);
    arguments.Flag("--detach", &detach_, "Print the job's name and do not wait");
    arguments.Exclusive({"--detach", "--fail-on"});
    DeclareFormat(arguments, &format_);
    arguments.Option("--request-id", &request_id_, "UUID", "The same one twice gives the same job");
    arguments.Exclusive({"--on", "--request-id"});
    arguments.Footer(kExitCodesHelp);
  }

  int Run(Context& context) override {
    std::optional<FailOn> fail_on;
    if (!fail_on_.empty()) {
      const auto parsed = ParseFailOn(fail_on_);
      if (!parsed.ok()) return ReportError(context.io, parsed.status());
      fail_on = *parsed;
    }
    const auto spec = options_.Spec();
    if (!spec.ok()) return ReportError(context.io, spec.status());
    const auto patience = options_.PatienceSeconds();
    if (!patience.ok()) return ReportError(context.io, patience.status());
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    if (!on_.empty()) return RunOn(context, *backend, *spec, fail_on);
    const auto job = SubmitPatiently(context, *backend, *spec, request_id_, *patience);
    if (context.interrupt.fired()) return kExitInterrupted;
    if (!job.ok()) return ReportError(context.io, job.status());
    if (detach_) return PrintDetached(context.io, *job);
    const Awaited awaited = AwaitJob(context, *backend, job->name(), ParseFormat(format_));
    if (!awaited.ended || !fail_on) return awaited.code;
    const FailOnVerdict verdict = JudgeJob(*fail_on, awaited.job);
    if (!verdict.sentence.empty()) {
      context.io.err << "kbench-client: " << verdict.sentence << std::endl;
    }
    return WorseExitCode(awaited.code, verdict.code);
  }

 private:
  int RunOn(Context& context, const Backend& backend, const kbench::v1::JobSpec& spec,
            const std::optional<FailOn>& fail_on) const {
    const auto devices = ParseOn(on_);
    if (!devices.ok()) return ReportError(context.io, devices.status());
    const OnOutcome outcome = RunOnDevices(context, backend, {spec}, *devices, format_, detach_);
    int code = outcome.code;
    if (!fail_on || code == kExitInterrupted) return code;
    for (const auto& [device, job] : outcome.ended) {
      const FailOnVerdict verdict = JudgeJob(*fail_on, job);
      if (!verdict.sentence.empty()) {
        context.io.err << "kbench-client: " << Plain(device) << ": " << verdict.sentence
                       << std::endl;
      }
      code = WorseExitCode(code, verdict.code);
    }
    return code;
  }

  // "2 cases ahead, starts in 40 s to 3 min", or why it does not start.
  std::string Where(const Job& job) const {
    if (IsFinal(job.state())) return "";
    if (job.state() == kbench::v1::JOB_STATE_RUNNING) return "it runs\n";
    if (!job.message().empty()) return "it waits: " + Plain(job.message()) + "\n";
    // A job that was made just now carries the coordinator's time.
    const double now = request_id_.empty() ? StampSeconds(job.create_time())
                                           : static_cast<double>(SystemClock().WallMicros()) * 1e-6;
    return "it waits: " + PlaceText(job, now) + "\n";
  }

  int PrintDetached(Io& io, const Job& job) const {
    if (format_ == "json") {
      io.out << "{\"job\":" << ToJsonLine(job) << "}\n";
    } else {
      io.out << JobId(job.name()) << "\n";
      io.err << Where(job);
      io.err << "watch it with: kbench-client watch " << JobId(job.name()) << "\n";
    }
    io.out.flush();
    return kExitOk;
  }

  MeasureOptions options_;
  std::string fail_on_;
  std::string format_ = "table";
  std::string request_id_;
  std::string on_;
  bool detach_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSubmit() { return std::make_unique<Submit>(); }

}  // namespace kbench::client
