// How many threads the libraries use. Both keep that number in state of their own (OpenMP: one a
// calling thread; OpenBLAS: one a process), so it is set before every launch. Call from the
// launching thread.
#pragma once

namespace kbench {

// oneDNN and our conversions run on OpenMP's threads.
void UseOpenMpThreads(int threads);
// Returns how many OpenBLAS really uses: it was built with a maximum.
int UseOpenBlasThreads(int threads);

}  // namespace kbench
