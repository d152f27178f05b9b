// The Python runners of a worker: one for each framework and environment of its configuration. Pure
// apart from looking for the interpreters.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "worker/daemon/runner_process.h"
#include "worker/daemon/worker_config.h"
#include "worker/device/device.h"

namespace kbench {

struct PythonRunners {
  std::vector<RunnerSpec> specs;
  std::vector<v1::AbsentFramework> absent;  // there is no interpreter to start them with
};

// `program_dir`: where kbench-worker lies; the engine lies beside it, the packages of the runner in
// ../lib/kbench/python.
PythonRunners MakePythonRunners(const std::vector<PythonEnvironment>& environments,
                                const DeviceFacts& facts, const std::string& program_dir,
                                int parent_pid);

}  // namespace kbench
