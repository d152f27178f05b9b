// An instance of a compiled variant: its binaries loaded, its arguments laid out. Host code; used
// from one thread, with the device of the context current.
#pragma once

#include <optional>
#include <string>

#include "kernels/cuda/device_instance.h"
#include "kernels/triton_aot/index.h"

namespace kbench::aot {

cuda::CreateResult Create(const Index& index, const Variant& variant, const Problem& problem,
                          const OperandPointers& operands);

}  // namespace kbench::aot
