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

// Days, so that nobody waits for ever, and a half-life that forgets at all.
constexpr double kMostWaitSeconds = 7 * 24 * 3600;
constexpr double kMostHalfLifeSeconds = 365 * 24 * 3600.0;

// "90s", "30m", "2h", "1d" into seconds. A bare number would be one of them in silence.
CLI::Validator Span(double least, double most) {
  const auto read = [least, most](std::string& text) {
    const std::size_t end = text.find_first_not_of("0123456789.");
    const std::string unit = end == std::string::npos ? "" : text.substr(end);
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text.substr(0, end), value);
    const double scale = unit == "s"   ? 1
                         : unit == "m" ? 60
                         : unit == "h" ? 3600
                         : unit == "d" ? 86400
                                       : 0;
    if (!is_number || scale == 0) {
      return fmt::format("'{}' is not a time; write 90s, 30m, 2h or 1d", text);
    }
    if (value * scale < least || value * scale > most) {
      return fmt::format("'{}' is not from {:.0f}s to {:.0f}d", text, least, most / 86400);
    }
    text = fmt::format("{}", value * scale);
    return std::string();
  };
  return {read, ""};
}

void AddPolicyOptions(CLI::App& app, scheduler::Options* options) {
  const auto add = [&](const std::string& name, double* value, double most,
                       const std::string& help) {
    app.add_option(name, *value, help)->take_last()->transform(Span(60, most))->option_text("TIME");
  };
  add("--waiting-bound", &options->bound_seconds, kMostWaitSeconds,
      "Who has waited for so long goes before all who have not: 30m (the default), 2h");
  add("--aging", &options->aging_seconds, kMostWaitSeconds,
      "Who has waited for so long stands one class higher; at most --waiting-bound (default: 10m)");
  add("--usage-half-life", &options->half_life_seconds, kMostHalfLifeSeconds,
      "After so long device time that an owner has used counts half (default: 1d)");
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
  AddPolicyOptions(app, &options->scheduler);
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

std::string CheckLimitOptions(CoordinatorOptions* options) {
  const double lease = options->scheduler.lease_seconds;
  options->scheduler.restore_grace_seconds = lease;
  if (3 * options->heartbeat_seconds > lease) {
    return fmt::format(
        "--heartbeat {} is more than a third of --lease {}: one lost heartbeat would lose a case",
        options->heartbeat_seconds, lease);
  }
  if (options->scheduler.aging_seconds > options->scheduler.bound_seconds) {
    return fmt::format(
        "--aging of {} s is longer than --waiting-bound of {} s: whoever waits for that long goes "
        "first anyway",
        options->scheduler.aging_seconds, options->scheduler.bound_seconds);
  }
  return "";
}

}  // namespace kbench::server
