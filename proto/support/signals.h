// SIGINT and SIGTERM as a wait instead of a handler: block them in main() before any thread starts,
// then wait in one thread.
#pragma once

namespace kbench {

void BlockTerminationSignals();  // also ignores SIGPIPE
// Blocks until SIGINT or SIGTERM arrives; returns its number.
// `typed`, where given: whether a terminal sent it, to all processes in its foreground.
int WaitForTerminationSignal(bool* typed = nullptr);
// 0 when none arrived within `seconds`.
int PollTerminationSignal(double seconds);

}  // namespace kbench
