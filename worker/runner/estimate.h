// How long one launch would take, found without launching it: the same implementation is run on
// smaller problems of the same kind, a few milliseconds of work, and extrapolated by the model of
// work. Stateless; used from the engine's thread, with no case open.
#pragma once

#include <optional>

#include "kernels/implementation.h"
#include "worker/runner/open_instance.h"

namespace kbench {

// Seconds of one launch. Nothing when the problem is so small that launching it is the better
// answer: surely below `limit_seconds` on any device, or no bigger than what was tried. A failure
// on a smaller problem gives nothing too (the real one will say it better), except a fatal one,
// which is put in `failure`.
std::optional<double> EstimateLaunch(kb_engine* engine, const Implementation& implementation,
                                     const Problem& problem, const CaseOptions& options,
                                     bool on_cpu, double limit_seconds, v1::RunnerFailure* failure);

}  // namespace kbench
