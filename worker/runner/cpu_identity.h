// What the CPU runner is: its implementations and the versions of the libraries behind them.
#pragma once

#include "worker/runner/session.h"

namespace kbench {

RunnerIdentity CpuIdentity(int threads);

}  // namespace kbench
