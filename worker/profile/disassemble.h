// SASS: what a cubin's instructions are. Used from one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench::profile {

// The text of these functions of the cubin, at most `most_bytes` of it. `program`: cuobjdump or
// nvdisasm (which takes no functions by name, and prints all).
absl::StatusOr<std::string> Disassemble(const std::string& program, const std::string& cubin,
                                        const std::vector<std::string>& functions, double seconds,
                                        std::size_t most_bytes,
                                        const std::function<bool()>& stopped);

}  // namespace kbench::profile
