// The precision that the coordinator takes where a job asks for none.
#pragma once

namespace kbench::client {

inline constexpr double kDefaultTarget = 0.005;  // half-width of the interval over its centre

}  // namespace kbench::client
