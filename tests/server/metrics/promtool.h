// What Prometheus's own lint says of an exposition. For tests.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/server/store/temp_dir.h"

namespace kbench::metrics {

inline bool HavePromtool() { return std::system("command -v promtool > /dev/null 2>&1") == 0; }

// Only where there is one.
inline bool PromtoolIsSilent(const std::string& text) {
  TempDir dir;
  std::ofstream(dir / "metrics") << text;
  const std::string command = "promtool check metrics < " + (dir / "metrics") + " > " +
                              (dir / "said") + " 2>&1 && test ! -s " + (dir / "said");
  if (std::system(command.c_str()) == 0) return true;
  return std::system(("cat " + (dir / "said")).c_str()) != 0;  // shown; false
}

}  // namespace kbench::metrics
