// Who a process belongs to and what it runs, from /proc. Thread-safe.
#pragma once

#include <string>

namespace kbench {

struct ProcessOwner {
  std::string user;     // a name, else the number; empty when the process is not to be seen
  std::string command;  // as in /proc/<pid>/comm, '?' for what is not printable ASCII
};

ProcessOwner OwnerOf(int pid, const std::string& proc = "/proc");

}  // namespace kbench
