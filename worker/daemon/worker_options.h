// The command line of kbench-worker and the flags in its configuration file, and what follows from
// them. Pure apart from the defaults' paths and reading the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/daemon/runner_process.h"
#include "worker/daemon/spool.h"
#include "worker/daemon/worker_config.h"
#include "worker/daemon/worker_labels.h"
#include "worker/device/device.h"

namespace kbench {

// Exit codes of the program.
inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInfra = 5;
inline constexpr int kExitDeviceHeld = 75;

struct WorkerOptions {
  std::string server;
  std::string device = "cpu";
  std::string name;
  std::string data_dir;
  std::vector<std::string> runners;
  int spares = 3;
  std::int64_t spool_bytes = Spool::kMostBytes;
  std::int64_t cache_bytes = std::int64_t{8} << 30;
  double grace_seconds = 60;  // after a SIGTERM, for the running case
  bool canaries = true;
  bool retune = false;
  bool python = true;
  std::vector<std::string> labels;  // "rack=a"
  std::string config;               // empty: the default path, where there is a file
  std::string credentials;          // empty: the default path of what `join` keeps
  std::string log_level = "info";
};

// Empty: go on. Else what was asked for, to be printed (help, version). INVALID_ARGUMENT says in
// one line what is wrong.
absl::StatusOr<std::string> ReadWorkerOptions(int argc, const char* const* argv,
                                              WorkerOptions* options);

// The same for main(). False: `exit_code` is what main() returns (help, version or a usage error,
// already printed).
bool ParseWorkerOptions(int argc, char** argv, WorkerOptions* options, int* exit_code);

// The Python environments to offer: those of the configuration, else "default" with the python3 on
// PATH; none with --no-python, or where --runner replaces all runners and no --config is given.
absl::StatusOr<std::vector<PythonEnvironment>> PythonEnvironments(const WorkerOptions& options);

// Labels of the device: those of the configuration, and --label in their place.
absl::StatusOr<Labels> DeviceLabels(const WorkerOptions& options);

// The runner programs to drive on the device, with their arguments and environment; not the Python
// ones.
std::vector<RunnerSpec> RunnerSpecs(const WorkerOptions& options, const DeviceFacts& facts,
                                    const std::string& program_dir, int parent_pid);

}  // namespace kbench
