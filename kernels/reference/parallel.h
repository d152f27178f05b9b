// Work cut into numbered pieces for a few threads. Private to the reference library.
#pragma once

#include <cstdint>
#include <functional>

namespace kbench::reference {

// Calls work(i) once for every i in [0, pieces), on at most `threads` threads including the
// caller's; returns when all are done. The order is not defined. The first exception that a piece
// throws is thrown again here.
void ParallelFor(std::int64_t pieces, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace kbench::reference
