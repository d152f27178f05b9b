// The build id that the linker wrote into this program. Thread-safe.
#pragma once

#include <string>

namespace kbench {

// In hexadecimal digits; empty where there is none.
std::string BuildId();

}  // namespace kbench
