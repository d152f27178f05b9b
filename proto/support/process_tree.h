// The processes below another one, as /proc tells. Thread-safe.
#pragma once

#include <sys/types.h>

#include <vector>

namespace kbench {

// Children, their children and so on, without `root` itself; a snapshot. A process whose parent has
// ended belongs to the nearest living subreaper (PR_SET_CHILD_SUBREAPER), else to init.
std::vector<pid_t> Descendants(pid_t root);

// SIGKILL to all of them, again until none is left or `seconds` are over: a process may start
// another while it is killed. `spare` are left alone, with what is below them. Does not reap.
void KillDescendants(pid_t root, double seconds, const std::vector<pid_t>& spare = {});

}  // namespace kbench
