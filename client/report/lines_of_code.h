// How much code each implementation is, counted when the client was built. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kbench::client {

// Lines that are neither blank nor comment alone (client/report/line_count.h).
struct ImplementationLines {
  std::string kernel;
  std::string implementation;
  int own = 0;      // of its own files, which may hold variants too
  int headers = 0;  // of the device headers they include, which others may share
  std::string files;
};

// Every implementation there is (client/report/implementation_files.txt), on whatever device.
const std::vector<ImplementationLines>& AllImplementationLines();
// "torch@torch211" is "torch"; nullptr where it is not known.
const ImplementationLines* LinesOf(const std::string& kernel, const std::string& implementation);

}  // namespace kbench::client
