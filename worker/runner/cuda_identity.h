// What the CUDA runner is: its implementations and the versions of the libraries behind them.
#pragma once

#include "worker/runner/session.h"

namespace kbench {

// Creates no CUDA context. `threads`: for the checks, which run on the host.
RunnerIdentity CudaIdentity(int threads);

}  // namespace kbench
