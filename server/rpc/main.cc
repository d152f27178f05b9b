// kbench-server: the coordinator. Logs to standard error, ends on SIGTERM or SIGINT after a drain.
#include <malloc.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/logging.h"
#include "proto/support/paths.h"
#include "proto/support/signals.h"
#include "server/rpc/server.h"
#include "spdlog/spdlog.h"

namespace {

constexpr int kUsage = 2;
constexpr int kFailed = 5;

// Its own lines about a taken port and the like repeat, at length, what we say in one.
void QuietGrpc() { setenv("GRPC_VERBOSITY", "NONE", 0); }

int Run(const kbench::server::ServerOptions& options) {
  QuietGrpc();
  kbench::BlockTerminationSignals();  // before any thread starts
  umask(077);                         // the socket and the data are this user's
  mallopt(M_ARENA_MAX, 2);            // many threads, little work: memory matters more
  auto server = kbench::server::Server::Start(options, kbench::SystemClock());
  if (!server.ok()) {
    fmt::print(stderr, "kbench-server: {}\n", kbench::MessageOf(server.status()));
    return server.status().code() == absl::StatusCode::kInvalidArgument ? kUsage : kFailed;
  }
  spdlog::info("kbench-server {} listens on {}; metrics on {}; data in {}", KBENCH_VERSION,
               fmt::join((*server)->listen(), ", "),
               (*server)->metrics_address().empty() ? "-" : (*server)->metrics_address(),
               options.data_dir);
  kbench::WaitForTerminationSignal();
  (*server)->Shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kbench::server::ServerOptions options;
  options.data_dir = kbench::DataDir();
  std::string log_level = "info";
  CLI::App app("The coordinator of kbench: queue, store, results and metrics.", "kbench-server");
  app.set_version_flag("--version", KBENCH_VERSION);
  app.add_option("--listen", options.listen,
                 "Address, may be repeated: unix:PATH or a loopback HOST:PORT (default: unix:" +
                     kbench::DefaultSocketPath() + ")");
  app.add_option("--metrics-listen", options.metrics_listen,
                 "HOST:PORT of /metrics; port 0 picks a free one, \"\" exports none")
      ->take_last()
      ->capture_default_str();
  app.add_option("--data-dir", options.data_dir, "Where jobs and results are kept")
      ->capture_default_str();
  double lease_seconds = options.coordinator.scheduler.lease_seconds;
  app.add_option("--lease", lease_seconds,
                 "Seconds after which a case whose worker is silent is tried again")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  app.add_option("--heartbeat", options.coordinator.heartbeat_seconds,
                 "Seconds between two heartbeats of a worker; at most a third of --lease")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  kbench::server::LimitOptions& limits = options.coordinator.limits;
  app.add_option("--most-queued-cases", limits.most_queued_cases,
                 "Cases that may wait, of all owners together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--most-jobs-per-owner", limits.most_jobs_of_owner,
                 "Jobs of one owner that have not ended")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--most-cases-per-owner", limits.most_cases_of_owner,
                 "Cases of one owner that have not ended")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--submits-per-second", limits.submits_per_second,
                 "Of one owner, over time; 0: as many as come")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--submit-burst", limits.submit_burst, "Submits of one owner at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--most-job-seconds", limits.most_job_seconds,
                 "The budgets of a job's cases together; 0: any")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--log-level", log_level, "trace, debug, info, warn or error")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "kbench-server: {}; see kbench-server --help\n", error.what());
    return kUsage;
  }
  if (3 * options.coordinator.heartbeat_seconds > lease_seconds) {
    fmt::print(stderr,
               "kbench-server: --heartbeat {} is more than a third of --lease {}: one lost "
               "heartbeat would lose a case\n",
               options.coordinator.heartbeat_seconds, lease_seconds);
    return kUsage;
  }
  options.coordinator.scheduler.lease_seconds = lease_seconds;
  options.coordinator.scheduler.restore_grace_seconds = lease_seconds;
  kbench::InitLogging("kbench-server", log_level);
  return Run(options);
}
