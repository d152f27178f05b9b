#include "worker/profile/ncu.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/json.h"
#include "worker/profile/limiter.h"
#include "worker/profile/ncu_table.h"
#include "worker/profile/tool.h"

namespace kbench::profile {
namespace {

constexpr std::size_t kMostTable = 1 << 20;

// The frames that the runner reads: a person could type them.
absl::Status WriteFrames(const Look& look, const std::string& path) {
  v1::RunnerRequest launch;
  launch.mutable_profile_launch();
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  std::uint64_t id = 1;
  for (v1::RunnerRequest request : {look.prepare, launch}) {
    request.set_id(id++);
    const absl::StatusOr<std::string> frame = ToFrame(request);
    if (!frame.ok()) return frame.status();
    out << *frame << "\n";
  }
  out.close();
  return out ? absl::OkStatus() : absl::InternalError("cannot write " + path);
}

std::vector<std::string> Command(const Look& look, const std::vector<std::string>& metrics,
                                 const std::string& log) {
  std::string list;
  for (const std::string& metric : metrics) list += (list.empty() ? "" : ",") + metric;
  std::vector<std::string> argv = {
      look.ncu, "--target-processes", "all",
      // Only what the runner brackets: its launch, whosever kernels that takes.
      "--profile-from-start", "off",
      // At the clocks at which it is timed.
      "--clock-control", "none", "--cache-control", look.cold ? "all" : "none", "--csv", "--page",
      "raw", "--print-units", "base", "--log-file", log, "--metrics", list};
  argv.insert(argv.end(), look.runner.begin(), look.runner.end());
  argv.push_back("--stdio");
  return argv;
}

// Why the runner did not make its launch, by its replies; empty when it did.
std::string RunnerFailure(const std::string& replies) {
  std::istringstream lines(replies);
  for (std::string line; std::getline(lines, line);) {
    v1::RunnerReply reply;
    if (!FromFrame(line, &reply).ok() || !reply.has_failure()) continue;
    return reply.failure().message();
  }
  return "";
}

std::string WhyNothing(const ToolOutput& run, const std::string& log, double seconds) {
  const std::string printed = log + "\n" + run.out + "\n" + run.err;
  if (const std::string complaint = Complaint(printed); !complaint.empty()) return complaint;
  if (run.timed_out) return fmt::format("ncu was not done within {:.0f} s", seconds);
  if (const std::string failure = RunnerFailure(run.out); !failure.empty()) {
    return "the runner failed under ncu: " + failure;
  }
  return fmt::format("ncu saw no kernel (exit code {})", run.exit_code);
}

// Of the metrics only those that were asked for: ncu also writes what its throughputs are made of,
// hundreds of them, which stay in its own table.
void Describe(const std::vector<KernelRow>& rows, const std::vector<std::string>& asked,
              v1::Profile* profile) {
  double share = 1;
  const KernelRow& row = *Longest(rows, &share);
  const Limiter limiter = NameLimiter(row);
  profile->set_kernel(row.name);
  profile->set_kernels(static_cast<int>(rows.size()));
  for (const std::string& name : asked) {
    const auto found = row.metrics.find(name);
    if (found != row.metrics.end()) (*profile->mutable_metrics())[name] = found->second;
  }
  if (limiter.name.empty()) {
    profile->set_message("ncu gave none of the figures that say what limits a kernel");
    return;
  }
  profile->set_limiter(limiter.name);
  profile->set_sentence(limiter.sentence);
  if (rows.size() < 2) return;
  profile->set_sentence(limiter.sentence +
                        fmt::format("; that is the longest of the launch's {} kernels, with "
                                    "{:.0f} % of its time",
                                    rows.size(), 100 * share));
}

}  // namespace

Seen LookAtLaunch(const Look& look, const std::function<bool()>& stopped) {
  Seen seen;
  seen.profile.set_tool(look.ncu);
  const double begin = SystemClock().SteadySeconds();
  const std::string log = look.folder + "/ncu.csv";
  Tool tool;
  tool.env = look.env;
  tool.input = look.folder + "/ncu-frames";
  tool.folder = look.folder;
  if (absl::Status written = WriteFrames(look, tool.input); !written.ok()) {
    seen.profile.set_message(std::string(written.message()));
    return seen;
  }
  std::vector<std::string> metrics = MetricsFor(look.architecture);
  // Another architecture's ncu may not know all of them: then once more without those.
  for (int tries = 0; tries < 2; ++tries) {
    tool.argv = Command(look, metrics, log);
    tool.seconds = look.seconds - (SystemClock().SteadySeconds() - begin);
    std::ofstream(log, std::ios::trunc).close();  // of an earlier try
    const absl::StatusOr<ToolOutput> run = RunTool(tool, stopped);
    if (!run.ok()) {
      seen.profile.set_message(std::string(run.status().message()));
      return seen;
    }
    seen.table = ReadStart(log, kMostTable);
    const std::vector<KernelRow> rows = ParseTable(seen.table);
    seen.profile.set_seconds(SystemClock().SteadySeconds() - begin);
    if (!rows.empty()) {
      Describe(rows, metrics, &seen.profile);
      return seen;
    }
    seen.profile.set_message("no profile: " + WhyNothing(*run, seen.table, look.seconds));
    const std::vector<std::string> unknown =
        UnknownMetrics(seen.table + "\n" + run->out + "\n" + run->err);
    const std::size_t before = metrics.size();
    for (const std::string& name : unknown) {
      metrics.erase(std::remove(metrics.begin(), metrics.end(), name), metrics.end());
    }
    if (metrics.size() == before || metrics.empty()) return seen;
    seen.profile.clear_message();
  }
  seen.profile.set_message("no profile: ncu knows too few of the metrics");
  return seen;
}

}  // namespace kbench::profile
