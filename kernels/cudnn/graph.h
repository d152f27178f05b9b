// Plans of cuDNN's graph interface: an operation described, the engine that the library's
// heuristics choose, compiled. Behind this header lies cudnn-frontend, which takes half a minute to
// compile: only graph.cc includes it. Used from one thread, with the device of the context current.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/implementation.h"

namespace kbench::cudnn {

class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::int64_t workspace_bytes() const = 0;
  virtual std::string engine() const = 0;  // as the library names it
  // Enqueues the plan on the handle's stream; `operands` in the order of the plan's maker. Returns
  // 0 or an error that error_text() explains.
  virtual int Execute(cudnnHandle_t handle, const std::vector<void*>& operands,
                      void* workspace) noexcept = 0;
  virtual std::string error_text() const = 0;  // of the last error
};
using PlanResult = Expected<std::unique_ptr<Plan>, ImplementationError>;

// q, k, v, o of the problem.
PlanResult PlanAttention(cudnnHandle_t handle, const Problem& problem);

}  // namespace kbench::cudnn
