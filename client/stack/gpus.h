// How many NVIDIA GPUs this machine shows us. Links nothing of NVIDIA's. Thread-safe.
#pragma once

#include <string>

namespace kbench::client {

// Counts the device nodes in `dev_dir` (nvidia0, nvidia1 ...; a container sees only its own); where
// there are none, the lines of `nvidia-smi -L` (WSL has no nodes).
int CountGpus(const std::string& dev_dir = "/dev");

}  // namespace kbench::client
