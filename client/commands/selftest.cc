// selftest: one page for a sceptic, from the device's calibration and from fixtures whose truth is
// known.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/cells.h"
#include "client/patience.h"
#include "client/selftest/page.h"
#include "client/submission.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::CompareResultsRequest;
using kbench::v1::CompareResultsResponse;
using kbench::v1::Device;
using kbench::v1::ListDevicesResponse;
using kbench::v1::Result;

constexpr char kCalibrating[] = "CALIBRATING";
constexpr char kFailed[] = "FAILED";
constexpr char kOffline[] = "OFFLINE";
constexpr char kWedged[] = "WEDGED";
constexpr double kPollSeconds = 0.2;
constexpr char kFirst[] = "selftest/a";
constexpr char kSame[] = "selftest/b";
constexpr char kSlower[] = "selftest/slower";
// Finding 2 % wants fewer submits than showing that nothing is found where nothing is.
constexpr int kMostSlower = 20;
// Each job begins with fresh processes, other addresses and another order; a start takes longer
// than a pair, so that some share it.
constexpr int kPairsPerJob = 10;

// As the scheduler chooses: a GPU if there is one, else the first.
absl::StatusOr<Device> ChooseDevice(const ListDevicesResponse& reply, const std::string& wanted) {
  std::vector<std::string> names;
  const Device* chosen = nullptr;
  for (const Device& device : reply.devices()) {
    names.push_back(device.name());
    const bool gpu = device.kind() == "cuda";
    const bool fits = wanted.empty() || device.name() == wanted || device.uuid() == wanted ||
                      (wanted == "gpu" && gpu) || (wanted == "cpu" && !gpu);
    if (!fits) continue;
    if (chosen == nullptr || (wanted.empty() && gpu && chosen->kind() != "cuda")) chosen = &device;
  }
  if (chosen != nullptr) return *chosen;
  const std::string message =
      names.empty() ? "no devices: no worker has connected yet; start one with `kbench-client up`"
                    : fmt::format("device: there is no device {}; known devices: {}", wanted,
                                  fmt::join(names, ", "));
  return MakeError(absl::StatusCode::kFailedPrecondition, message, {.reason = "UNKNOWN_DEVICE"});
}

// Its jobs would wait without an end in sight.
bool IsAway(const Device& device) {
  return device.state() == kOffline || device.state() == kWedged;
}

absl::Status Away(const Device& device) {
  const std::string why = device.state_message().empty() ? "" : ": " + device.state_message();
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("{} is {}{}; selftest needs a device that measures: see "
                               "`kbench-client devices`",
                               device.name(), device.state(), why),
                   {.reason = "DEVICE_" + device.state()});
}

const Result* RowOf(const CaseStatus& status, const std::string& implementation) {
  for (const Result& result : status.results()) {
    if (result.implementation() == implementation && HasNumber(result)) return &result;
  }
  return nullptr;
}

class Selftest final : public Command {
 public:
  std::string name() const override { return "selftest"; }
  std::string help() const override { return "Show that a device's numbers can be trusted"; }

  void Declare(Arguments& arguments) override {
    arguments.Option("--device", &device_, "NAME", "cpu, gpu0 or a UUID (default: a GPU if any)");
    arguments.Integer("--pairs", &pairs_, 1, 1000, "N",
                      "Pairs of the same twice, at most 20 with 2% more (20)");
    DeclareFormat(arguments, &format_, {"table", "json"});
    arguments.Footer(
        "Exit codes: 0 every line passed;  1 one did not;  2 wrong use;\n"
        "  5 kbench or the machine failed;  130 Ctrl-C.");
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    auto device = FindDevice(*backend);
    if (device.ok() && device->state() == kCalibrating) {
      context.io.err << fmt::format("{} is being calibrated: waiting for it\n", device->name())
                     << std::flush;
    }
    // A device that has just come up: the page is about what its calibration finds.
    while (device.ok() && device->state() == kCalibrating) {
      if (!context.interrupt.Sleep(kPollSeconds)) return kExitInterrupted;
      device = FindDevice(*backend);
    }
    if (!device.ok()) return ReportError(context.io, device.status());
    if (IsAway(*device)) return ReportError(context.io, Away(*device));
    selftest::Page page;
    page.device = *std::move(device);
    page.size = fmt::format("{}", selftest::CopyElements(page.device));
    page.pairs = pairs_;
    page.checks = selftest::CalibrationChecks(page.device);
    // One that failed gets no jobs: they would wait until it passes.
    if (page.device.state() == kFailed) return Print(context.io, page);

    std::vector<selftest::PairRun> same;
    std::vector<selftest::PairRun> slower;
    for (const auto& [second, runs] : {std::pair{kSame, &same}, {kSlower, &slower}}) {
      const int count = std::string(second) == kSlower ? std::min(pairs_, kMostSlower) : pairs_;
      const int code = Submits(context, *backend, page, second, count, runs);
      if (code != kExitOk) return code;
    }
    for (selftest::Check& check : selftest::RunChecks(same, slower)) {
      page.checks.push_back(std::move(check));
    }
    return Print(context.io, page);
  }

 private:
  absl::StatusOr<Device> FindDevice(const Backend& backend) const {
    KB_ASSIGN_OR_RETURN(const auto reply,
                        (Unary<ListDevicesResponse>(
                            backend, [&](grpc::ClientContext* call, ListDevicesResponse* out) {
                              return backend.devices->ListDevices(call, {}, out);
                            })));
    return ChooseDevice(reply, device_);
  }

  int Print(Io& io, const selftest::Page& page) const {
    format_ == "json" ? PrintPageJson(io, page) : PrintPage(io, page);
    return selftest::AllPassed(page.checks) ? kExitOk : kExitBadOutcome;
  }

  // Not kExitOk: the service failed, or Ctrl-C. What a fixture did is a run's matter.
  int Submits(Context& context, const Backend& backend, const selftest::Page& page,
              const std::string& second, int count, std::vector<selftest::PairRun>* runs) const {
    Submission what;
    what.kernels = "copy";
    what.dtypes = "fp32";
    what.sizes = {page.size};
    what.implementations = std::string(kFirst) + "," + second;
    what.device = page.device.name();
    what.target = "2%";
    what.labels = {"selftest=" + second};
    const auto one = BuildSpec(what);
    if (!one.ok()) return ReportError(context.io, one.status());
    while (static_cast<int>(runs->size()) < count) {
      kbench::v1::JobSpec spec = *one;
      const int left = count - static_cast<int>(runs->size());
      while (spec.cases_size() < std::min(left, kPairsPerJob)) *spec.add_cases() = one->cases(0);
      const int code = SubmitPairs(context, backend, spec, second, runs);
      if (code != kExitOk) return code;
      context.io.err << fmt::format("{} against {}: {} of {} pairs\n", second, kFirst, runs->size(),
                                    count)
                     << std::flush;
    }
    return kExitOk;
  }

  // One job: a pair a case.
  static int SubmitPairs(Context& context, const Backend& backend, const kbench::v1::JobSpec& spec,
                         const std::string& second, std::vector<selftest::PairRun>* runs) {
    const auto job = SubmitPatiently(context, backend, spec, "", kDefaultPatienceSeconds);
    if (context.interrupt.fired()) return kExitInterrupted;
    if (!job.ok()) return ReportError(context.io, job.status());
    SilentReport report;
    const Awaited awaited = AwaitJob(context, backend, job->name(), report);
    if (!awaited.ended) return awaited.code;
    for (const auto& status : awaited.job.cases()) {
      auto run = Judge(backend, status, second);
      if (!run.ok()) return ReportError(context.io, run.status());
      runs->push_back(*std::move(run));
    }
    return kExitOk;
  }

  // Each pair is a request, so a family, of its own: a false verdict must not hide among many.
  static absl::StatusOr<selftest::PairRun> Judge(const Backend& backend, const CaseStatus& status,
                                                 const std::string& second) {
    selftest::PairRun run;
    const Result* a = RowOf(status, kFirst);
    const Result* b = RowOf(status, second);
    if (a == nullptr || b == nullptr) return run;
    CompareResultsRequest request;
    request.add_pairs()->set_a(b->name());
    request.mutable_pairs(0)->set_b(a->name());
    KB_ASSIGN_OR_RETURN(const auto reply,
                        (Unary<CompareResultsResponse>(
                            backend, [&](grpc::ClientContext* call, CompareResultsResponse* out) {
                              return backend.results->CompareResults(call, request, out);
                            })));
    if (reply.comparisons_size() != 1) return run;
    run.measured = true;
    run.first = *a;
    run.verdict = reply.comparisons(0).verdict();
    run.speedup = reply.comparisons(0).speedup();
    return run;
  }

  std::string device_;
  int pairs_ = 20;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeSelftest() { return std::make_unique<Selftest>(); }

}  // namespace kbench::client
