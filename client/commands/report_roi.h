// `report roi`: what abstractions cost, from the suite abstraction-roi or from results that are
// there. Used from one thread.
#pragma once

#include <string>

#include "client/command.h"
#include "client/suites/suite_plan.h"

namespace kbench::client {

struct RoiOptions {
  std::string suite = "abstraction-roi";
  SuiteOptions run;      // the device also chooses among the results that are read
  std::string from;      // a file of JSON lines, "-": standard input
  std::string jobs;      // a list, jobs that were run already
  std::string html;      // where the page goes; empty: nowhere
  std::string markdown;  // where Markdown goes; empty: standard output
};

// The exit code: of the jobs that were run; of results that are there 0.
int ReportRoi(Context& context, const RoiOptions& options);

}  // namespace kbench::client
