// The version of the client. Set by CMake from the project's.
#pragma once

namespace kbench::client {

#ifdef KBENCH_VERSION
inline constexpr char kClientVersion[] = KBENCH_VERSION;
#else
inline constexpr char kClientVersion[] = "unknown";
#endif

}  // namespace kbench::client
