// `suite run`: a suite's jobs submitted and followed, or shown beforehand. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "client/command.h"
#include "client/output/report.h"
#include "client/suites/suite_plan.h"

namespace kbench::client {

// `plan` has no faults. Both return the exit code.

// The cases, how long they take and wait; submits nothing. Without a coordinator it says that the
// wait is not known.
int ShowPlan(Context& context, const SuiteFile& file, const SuitePlan& plan, bool json);

// Follows the jobs one after the other: the worst code counts. Nothing is submitted unless the
// coordinator would take all of it.
int RunPlan(Context& context, const SuitePlan& plan, const std::string& format, bool detach);
// The same without detaching, into `report`; `jobs` gets the names of those that were submitted.
int RunPlan(Context& context, const SuitePlan& plan, Report& report,
            std::vector<std::string>* jobs);

}  // namespace kbench::client
