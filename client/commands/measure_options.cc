#include "client/commands/measure_options.h"

#include <utility>

#include "client/duration.h"
#include "client/patience.h"

namespace kbench::client {
namespace {

constexpr double kMostPatience = 30.0 * 24 * 3600;

}  // namespace

void MeasureOptions::Declare(Arguments& arguments) {
  arguments.Option("--impl", &what.implementations, "A,B",
                   "Names, families, all, default; NAME? where there is one");
  arguments.Option("--env", &what.environments, "A,B",
                   "Environments of torch and Triton (default: default)");
  arguments.Option("--device", &what.device, "NAME",
                   "gpu0, gpu, a UUID, model=H200, label:rack=a (your default)");
  arguments.Option("--mode", &what.modes, "MODE", "cold (default), hot, graph, steady");
  arguments.Option("--flush", &what.flush, "HOW", "clean (default), dirty, none");
  arguments.Unsigned("--seed", &what.seed, "N", "Seed of the inputs (default 1)");
  arguments.Option("--target", &what.target, "RATIO", "Precision to reach (default 0.5%)");
  arguments.Flag("--quick", &quick_, "The same as --target 2%");
  arguments.Flag("--precise", &precise_, "The same as --target 0.2%");
  arguments.Exclusive({"--target", "--quick", "--precise"});
  arguments.Option("--margin", &what.margin, "RATIO",
                   "Differences up to this one do not matter (default 1%)");
  arguments.Choice("--if-busy", &what.if_busy, {"wait", "run", "fail"},
                   "When others use a GPU (wait)");
  arguments.Flag("--profile", &what.profile, "Then say what limits each one, by Nsight Compute");
  arguments.Flag("--share", &what.share, "Take the results of the same case in flight");
  arguments.Option("--max-age", &what.max_age, "TIME",
                   "Take VALID results of the same device this old: 24h");
  arguments.Flag("--fresh", &what.fresh, "Measure anew, even what was POISON within the hour");
  arguments.Exclusive({"--fresh", "--max-age"});
  arguments.Exclusive({"--fresh", "--share"});
  arguments.Option("--budget", &what.budget, "TIME", "Time one case may take (default 60s)");
  arguments.Choice("--class", &what.priority_class, {"interactive", "ci", "batch"},
                   "Which jobs go first (interactive)");
  arguments.Integer("--priority", &what.priority, 0, 1000, "N",
                    "Among your own: 0 (last) to 1000 (first), default 500");
  arguments.Option("--queue-timeout", &what.queue_timeout, "TIME",
                   "Give up if it has not started by then (default: never)");
  arguments.Option("--wait-for-queue", &wait_for_queue_, "TIME",
                   "How long to try on when a limit is reached (5m)");
  arguments.Repeated("--label", &what.labels, "KEY=VALUE", "A note on the job, may be repeated");
}

absl::StatusOr<kbench::v1::JobSpec> MeasureOptions::Spec() const {
  Submission submission = what;
  if (quick_) submission.target = "2%";
  if (precise_) submission.target = "0.2%";
  return BuildSpec(submission);
}

absl::StatusOr<double> MeasureOptions::PatienceSeconds() const {
  if (wait_for_queue_.empty()) return kDefaultPatienceSeconds;
  return ReadDuration("wait-for-queue", wait_for_queue_, "30s, 5m or 0s", kMostPatience, true);
}

void DeclareFailOn(Arguments& arguments, std::string* fail_on) {
  arguments.Option("--fail-on", fail_on, "slower:3%",
                   "Exit 3 when slower (faster) by more, 8 when it may be");
}

std::string MeasureOptions::FirstGiven() const {
  const std::pair<const char*, bool> given[] = {{"--impl", !what.implementations.empty()},
                                                {"--env", !what.environments.empty()},
                                                {"--device", !what.device.empty()},
                                                {"--mode", !what.modes.empty()},
                                                {"--flush", !what.flush.empty()},
                                                {"--seed", what.seed != 0},
                                                {"--target", !what.target.empty()},
                                                {"--quick", quick_},
                                                {"--precise", precise_},
                                                {"--if-busy", !what.if_busy.empty()},
                                                {"--profile", what.profile},
                                                {"--share", what.share},
                                                {"--max-age", !what.max_age.empty()},
                                                {"--fresh", what.fresh},
                                                {"--budget", !what.budget.empty()},
                                                {"--class", !what.priority_class.empty()},
                                                {"--priority", what.priority >= 0},
                                                {"--queue-timeout", !what.queue_timeout.empty()},
                                                {"--wait-for-queue", !wait_for_queue_.empty()},
                                                {"--label", !what.labels.empty()}};
  for (const auto& [name, is_given] : given) {
    if (is_given) return name;
  }
  return "";
}

}  // namespace kbench::client
