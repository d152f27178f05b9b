// Datasheet figures of common GPUs, by name and compute capability: dense rates without sparsity,
// products with fp32 accumulation. Unknown GPUs give zeros, never a guess. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace kbench {

struct Datasheet {
  std::map<std::string, double> flops;  // FLOP/s by dtype (int8: OP/s)
  double bandwidth = 0;                 // byte/s
  std::int64_t l2_bytes = 0;
  int multiprocessors = 0;
};

// `memory_bytes` tells boards of one name apart (A100 40 and 80 GB). A MIG slice has the figures of
// no datasheet: do not ask.
Datasheet DatasheetOf(const std::string& name, int major, int minor, std::int64_t memory_bytes);

}  // namespace kbench
