#include "worker/daemon/worker_options.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "proto/support/config_flags.h"
#include "proto/support/cpu_list.h"
#include "proto/support/credentials.h"
#include "proto/support/error.h"
#include "proto/support/logging.h"
#include "worker/daemon/worker_config.h"

namespace kbench {
namespace {

#ifndef KBENCH_VERSION
#define KBENCH_VERSION "unknown"
#endif

constexpr char kFooter[] =
    "Command: join LINE keeps the coordinator and the credentials of `kbench-server invite`.\n"
    "Exit codes: 0 stopped by a signal, 2 wrong usage, 5 the device, a runner or the data folder "
    "cannot be used, or the coordinator refused this worker, 75 another worker holds the device.";

void DeclareWhat(CLI::App& app, WorkerOptions& options) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--server", options.server,
                 "The coordinator: unix:PATH or HOST:PORT (default: the local stack's socket)");
  app.add_option("--device", options.device,
                 "cpu, cpu:0-3, the index of a GPU, GPU-<uuid> or MIG-<uuid>")
      ->capture_default_str();
  app.add_option("--name", options.name,
                 "The stable name of the device (default: cpu, or gpu<index>)")
      ->check(CLI::Validator(
          [](std::string& name) {
            const bool plain = !name.empty() && name.size() <= 63 &&
                               name.find_first_not_of(
                                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789-_.") == std::string::npos;
            return plain ? std::string()
                         : std::string("letters, digits, - _ and . only, at most 63: ") + name;
          },
          "NAME"));
  app.add_option("--data-dir", options.data_dir, "Where results wait until they are acknowledged");
  app.add_option("--runner", options.runners,
                 "A runner program to drive instead of those beside this program; repeatable")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--credentials", options.credentials,
                 "What `kbench-worker join` keeps (default: " + WorkerCredentialsPath() + ")");
  app.add_option("--label", options.labels,
                 "KEY=VALUE: a label of the device, for selectors as label:rack=a; repeatable, in "
                 "place of the same one of the configuration's [labels]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void DeclareHow(CLI::App& app, WorkerOptions& options) {
  app.add_flag_callback(
      "--no-python", [&options] { options.python = false; },
      "Start no Python runners: no torch, no Triton");
  app.add_option("--spares", options.spares,
                 "Warm spare runners of each program; of each Python one at most one")
      ->check(WholeBetween(0, 16))
      ->capture_default_str();
  app.add_option("--spool-cap", options.spool_bytes,
                 "Bytes of results that may wait for the coordinator on this disk; beyond them "
                 "results wait without samples, logs and code (1GiB)")
      ->transform(ByteSize());
  app.add_option("--cache-cap", options.cache_bytes,
                 "Bytes that compilers' caches (Triton's, torch's) may keep over a restart of the "
                 "worker (8GiB)")
      ->transform(ByteSize());
  app.add_option("--grace", options.grace_seconds,
                 "Seconds that a running case has to end after a SIGTERM before it is handed back; "
                 "a second SIGTERM hands it back at once")
      ->check(CLI::Validator(
          [](std::string& text) {
            double seconds = -1;  // CLI::Range lets through what is no number
            const bool is_number = CLI::detail::lexical_cast(text, seconds);
            return is_number && seconds >= 0 && seconds <= 86'400
                       ? std::string()
                       : "'" + text + "' is not a number from 0 to 86400";
          },
          "SECONDS"))
      ->capture_default_str();
  app.add_flag_callback(
      "--no-canaries", [&options] { options.canaries = false; },
      "Measure nothing while the device is idle. Otherwise the worker measures two known cells "
      "(a few seconds; at once ended when a case arrives) five times and then once an hour, to "
      "learn how far medians move between sessions");
  app.add_flag("--retune", options.retune,
               "Forget which candidates of tuned implementations were the fastest: each is timed "
               "again when it is next asked for");
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn or error")
      ->check(OneOf(LogLevels()))
      ->capture_default_str();
}

}  // namespace

absl::StatusOr<std::string> ReadWorkerOptions(int argc, const char* const* argv,
                                              WorkerOptions* options) {
  CLI::App app(
      "kbench-worker owns one device: it runs the cases that the coordinator assigns, in "
      "child processes, and sends back verified results.",
      "kbench-worker");
  app.footer(kFooter);
  const ConfigRules rules{
      .program = "kbench-worker",
      .version = "kbench-worker " KBENCH_VERSION,
      .default_path = DefaultWorkerConfigPath(),
      .about =
          "These flags as keys, and which Python interpreters to use ([env.NAME]); where it "
          "does not exist, the python3 on PATH",
      .sections = true,
      .hint = "; an interpreter stands below [env.NAME], as in [env.default]"};
  WorkerOptions trial = *options;
  const auto declare_on = [](WorkerOptions& on) {
    return [&on](CLI::App& to) {
      DeclareWhat(to, on);
      DeclareHow(to, on);
    };
  };
  return ParseWithConfig(app, rules, declare_on(*options), declare_on(trial), argc, argv,
                         &options->config);
}

bool ParseWorkerOptions(int argc, char** argv, WorkerOptions* options, int* exit_code) {
  const absl::StatusOr<std::string> answer = ReadWorkerOptions(argc, argv, options);
  if (!answer.ok()) {
    std::fprintf(stderr, "kbench-worker: %s\n", MessageOf(answer.status()).c_str());
    *exit_code = kExitUsage;
    return false;
  }
  if (answer->empty()) return true;
  std::fputs(answer->c_str(), stdout);
  *exit_code = kExitOk;
  return false;
}

absl::StatusOr<std::vector<PythonEnvironment>> PythonEnvironments(const WorkerOptions& options) {
  if (!options.python) return std::vector<PythonEnvironment>();
  const bool named = !options.config.empty();
  if (!named && !options.runners.empty()) return std::vector<PythonEnvironment>();
  std::vector<PythonEnvironment> environments;
  std::error_code error;
  const std::string path = named ? options.config : DefaultWorkerConfigPath();
  if (named || std::filesystem::exists(path, error)) {
    KB_ASSIGN_OR_RETURN(environments, ReadWorkerConfig(path));
  }
  // A file that holds flags alone says nothing about Python.
  if (environments.empty()) environments.emplace_back();
  return environments;
}

absl::StatusOr<Labels> DeviceLabels(const WorkerOptions& options) {
  std::error_code error;
  const std::string path = options.config.empty() ? DefaultWorkerConfigPath() : options.config;
  Labels labels;
  if (!options.config.empty() || std::filesystem::exists(path, error)) {
    std::ifstream file(path);
    KB_ASSIGN_OR_RETURN(labels, ParseConfigLabels(file, path));
  }
  return MergeLabels(std::move(labels), options.labels);
}

std::vector<RunnerSpec> RunnerSpecs(const WorkerOptions& options, const DeviceFacts& facts,
                                    const std::string& program_dir, int parent_pid) {
  std::vector<std::string> programs = options.runners;
  if (programs.empty()) {
    const bool cuda = facts.device.kind() == "cuda";
    programs.push_back(program_dir + (cuda ? "/kbench-runner-cuda" : "/kbench-runner"));
  }
  std::vector<RunnerSpec> specs;
  for (const std::string& program : programs) {
    RunnerSpec spec{program, {"--parent", std::to_string(parent_pid)}, facts.runner_env};
    if (!facts.cpus.empty()) {
      spec.args.insert(spec.args.end(), {"--cpus", FormatCpuList(facts.cpus), "--threads",
                                         std::to_string(facts.cpus.size())});
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace kbench
