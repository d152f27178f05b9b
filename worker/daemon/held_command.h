// The process between the worker and a command that holds its device: `kbench-worker
// --held-command`. It exists so that nothing of the command outlives the hold: every process below
// it (also one that made a session of its own) ends with the command, on request, and when the
// worker dies. Runs alone in its process, before any thread.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/job.pb.h"
#include "proto/support/process.h"
#include "worker/device/device.h"

namespace kbench {

inline constexpr char kHeldCommandFlag[] = "--held-command";

// main() of that process. Arguments: the flag, the worker's pid, the folder to run in, the cores as
// a list ("-": all), the command. SIGTERM is passed on to all processes of the command, SIGUSR1
// kills them. Returns the command's exit code (128 + the signal that ended it; 127: there is no
// such program, 126: it cannot be started).
int RunHeldCommand(const std::vector<std::string>& arguments);

// How the worker starts it: a minimal environment of the worker's own (PATH, HOME, USER, LOGNAME,
// LANG, TZ), the device's variables, KBENCH_JOB, KBENCH_DEVICE, on a CPU KBENCH_CPUS, TMPDIR (the
// folder), and the hold's own on top. Standard input is empty; `out` and `err` are its outputs.
ProcessSpec HeldCommandSpec(const std::string& program, const v1::Hold& hold,
                            const std::string& job_id, const std::string& device_name,
                            const DeviceFacts& facts, const std::string& folder, int out, int err);

}  // namespace kbench
