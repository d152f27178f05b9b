// The page that selftest prints. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "client/io.h"
#include "client/selftest/checks.h"

namespace kbench::client::selftest {

struct Page {
  kbench::v1::Device device;
  std::string size;  // of the copy: "2^25"
  int pairs = 0;
  std::vector<Check> checks;
};

// At most 90 columns.
void PrintPage(Io& io, const Page& page);
// {"selftest": {...}} on one line.
void PrintPageJson(Io& io, const Page& page);

}  // namespace kbench::client::selftest
