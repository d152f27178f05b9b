// Programs of the CUDA toolkit that a worker runs beside its runners: where they are, and what they
// print. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench::profile {

// The first executable of the name on PATH, else in the folders; empty where there is none.
std::string FindProgram(const std::string& name, const std::vector<std::string>& folders);
// Nsight Compute: PATH, /usr/local/cuda/bin, the newest in /opt/nvidia/nsight-compute.
std::string FindNcu();
// cuobjdump, else nvdisasm.
std::string FindDisassembler();

struct Tool {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env = {};
  std::string input = {};            // a file for its standard input; empty: nothing
  std::string folder;                // where what it prints is kept meanwhile
  double seconds = 10;               // then it is killed
  std::size_t most_bytes = 1 << 20;  // of each kind of output; the rest is cut off
};

struct ToolOutput {
  std::string out;
  std::string err;
  int exit_code = 0;  // 128 + signal
  bool timed_out = false;
};

// Runs it to its end, in a process group of its own, with standard output and standard error in
// files. An error: it could not be started, or `stopped` (may be null) said so.
absl::StatusOr<ToolOutput> RunTool(const Tool& tool, const std::function<bool()>& stopped);

// False where it could not be written.
bool WriteWhole(const std::string& path, const std::string& bytes);

// The first bytes of a file; empty where there is none.
std::string ReadStart(const std::string& path, std::size_t most_bytes);

}  // namespace kbench::profile
