#include "server/rpc/limit_options.h"

#include <limits>
#include <string>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "proto/support/config_flags.h"

namespace kbench::server {
namespace {

constexpr double kAny = std::numeric_limits<double>::max();

void AddLeaseOptions(CLI::App& app, CoordinatorOptions* options) {
  app.add_option("--lease", options->scheduler.lease_seconds,
                 "Seconds after which a case whose worker is silent is tried again")
      ->take_last()
      ->check(Between(1, 3600))
      ->capture_default_str();
  app.add_option("--heartbeat", options->heartbeat_seconds,
                 "Seconds between two heartbeats of a worker; at most a third of --lease")
      ->take_last()
      ->check(Between(0.1, 1200))
      ->capture_default_str();
}

}  // namespace

CLI::Validator Between(double least, double most) {
  const auto check = [least, most](const std::string& text) {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && value >= least && value <= most) return std::string();
    return most == kAny ? fmt::format("'{}' is not a number from {} on", text, least)
                        : fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  const std::string range =
      most == kAny ? fmt::format("from {}", least) : fmt::format("in [{} - {}]", least, most);
  return {check, range};
}

void AddLimitOptions(CLI::App& app, CoordinatorOptions* options) {
  AddLeaseOptions(app, options);
  LimitOptions& limits = options->limits;
  const auto count = [&app](const std::string& name, int* value, const std::string& help) {
    app.add_option(name, *value, help)
        ->take_last()
        ->check(WholeBetween(1, std::numeric_limits<int>::max()))
        ->capture_default_str();
  };
  count("--most-queued-cases", &limits.most_queued_cases, "Cases that may wait, of all owners");
  count("--most-jobs-per-owner", &limits.most_jobs_of_owner,
        "Jobs of one owner that have not ended");
  count("--most-cases-per-owner", &limits.most_cases_of_owner,
        "Cases of one owner that have not ended");
  count("--submit-burst", &limits.submit_burst, "Submits of one owner at once");
  app.add_option("--submits-per-second", limits.submits_per_second,
                 "Of one owner, over time; 0: as many as come")
      ->take_last()
      ->check(Between(0, kAny))
      ->capture_default_str();
  app.add_option("--most-job-seconds", limits.most_job_seconds,
                 "The budgets of a job's cases together; 0: any")
      ->take_last()
      ->check(Between(0, kAny))
      ->capture_default_str();
}

std::string CheckLeaseOptions(CoordinatorOptions* options) {
  const double lease = options->scheduler.lease_seconds;
  options->scheduler.restore_grace_seconds = lease;
  if (3 * options->heartbeat_seconds <= lease) return "";
  return fmt::format(
      "--heartbeat {} is more than a third of --lease {}: one lost heartbeat would lose a case",
      options->heartbeat_seconds, lease);
}

}  // namespace kbench::server
