// SIGINT and SIGTERM as a wait instead of a handler: block them in main() before any thread starts,
// then wait in one thread.
#pragma once

namespace kbench {

void BlockTerminationSignals();  // also ignores SIGPIPE
// Blocks until SIGINT or SIGTERM arrives; returns its number.
int WaitForTerminationSignal();
// 0 when none arrived within `seconds`.
int PollTerminationSignal(double seconds);

}  // namespace kbench
