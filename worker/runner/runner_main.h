// The main program of every C++ runner: command line, pinning, and the loop that answers frames.
#pragma once

#include <functional>

#include "worker/runner/frames.h"
#include "worker/runner/session.h"

namespace kbench {

// The exit code of a runner whose device is poisoned, after it has said so.
inline constexpr int kExitFatal = 110;

// Answers requests until the end of file (0), a fatal failure (kExitFatal) or a broken descriptor
// (1).
int Serve(Session& session, FrameReader& reader, FrameWriter& writer);

// `identify` makes the identity for so many threads; it must not create a CUDA context.
int RunnerMain(int argc, char** argv, const std::function<RunnerIdentity(int threads)>& identify);

}  // namespace kbench
