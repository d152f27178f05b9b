// The command line of kbench-worker, and what follows from it. Pure apart from the defaults' paths.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "worker/daemon/runner_process.h"
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
  bool canaries = true;
  bool retune = false;
  std::string log_level = "info";
};

// False: `exit_code` is what main() returns (help, version or a usage error, already printed).
bool ParseWorkerOptions(int argc, char** argv, WorkerOptions* options, int* exit_code);

// The runner programs to drive on the device, with their arguments and environment.
std::vector<RunnerSpec> RunnerSpecs(const WorkerOptions& options, const DeviceFacts& facts,
                                    const std::string& program_dir, int parent_pid);

}  // namespace kbench
