// What the OpenBLAS implementations share. Its interface counts in 32 bits.
#pragma once

#include <optional>
#include <string>

#include "kernels/cpu/host_instance.h"

namespace kbench {

// Why OpenBLAS's 32-bit interface cannot take this shape, or nothing.
std::optional<std::string> OpenBlasExtentError(const Problem& problem);

// Version, kernel family and the threads it really uses.
ConfigurationMap OpenBlasConfiguration(int threads);

}  // namespace kbench
