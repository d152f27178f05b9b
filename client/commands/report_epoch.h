// report epoch: the cells of a device before and after its environment changed. One thread.
#pragma once

#include <string>

#include "client/command.h"

namespace kbench::client {

struct EpochOptions {
  std::string device;  // its stable name
  std::string before;  // epochs; empty: the last two
  std::string after;
  bool pinned = false;
  std::string format = "table";
};

// The exit code.
int ReportEpoch(Context& context, const EpochOptions& options);

}  // namespace kbench::client
