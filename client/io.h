// Where a verb writes: results to `out`, everything else (progress, notes, errors) to `err`. Owned
// by main() or a test; used from one thread.
#pragma once

#include <ostream>

namespace kbench::client {

struct Io {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  // only then a progress line is drawn
  int width = 80;                // columns of that terminal
  // Standard output, for what draws on it: a descriptor of a terminal, and one that keys come from;
  // -1: none.
  int out_terminal = -1;
  int keys = -1;
};

}  // namespace kbench::client
