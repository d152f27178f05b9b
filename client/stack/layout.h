// Where the local stack keeps its sockets, pid files and logs, and what its programs are started
// with. Pure but for the environment; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/stack/daemon.h"

namespace kbench::client {

inline constexpr char kServerProgram[] = "kbench-server";
inline constexpr char kWorkerProgram[] = "kbench-worker";

std::string ServerPidPath();
// One a device: "cpu:0-3" lies in kbench-worker-cpu_0-3.pid.
std::string WorkerPidPath(const std::string& device);
// Of every worker that `up` ever started here, alive or not: {device as in the file's name, path}.
std::vector<std::pair<std::string, std::string>> WorkerPidPaths();
std::string LogDir();

DaemonSpec ServerSpec(const std::string& metrics_listen);
DaemonSpec WorkerSpec(const std::string& device);

// The stable name of the device a worker started with `--device device` announces: a slice of the
// CPU has one of its own ("cpu:0-3" is cpu_0-3), so that several fit. Empty when only its UUID
// tells.
std::string DeviceName(const std::string& device);

// What the running server wrote into its data folder; empty fields when there is nothing to read.
struct ServerNote {
  std::string metrics;
  int pid = 0;
};
ServerNote ReadServerNote();

}  // namespace kbench::client
