// `suite schedule` and what goes with it: suites that the coordinator runs at fixed times of the
// day. Used from one thread; all return the exit code.
#pragma once

#include <string>
#include <vector>

#include "client/command.h"
#include "client/output/report.h"
#include "client/suites/suite_plan.h"

namespace kbench::client {

struct ScheduleOptions {
  std::string name;                  // empty: as the suite
  std::string at;                    // "02:00"
  std::string zone;                  // empty: the coordinator's
  std::string days;                  // "mon,thu"; empty: every day
  std::vector<std::string> devices;  // each runs the whole suite; none: as the plan says
};

// The jobs of `plan`, which has no faults, once for each device.
int SetSchedule(Context& context, const std::string& suite, const SuitePlan& plan,
                const ScheduleOptions& options, Format format);
int ListSchedules(Context& context, Format format);
int PauseSchedule(Context& context, const std::string& name, bool paused, Format format);
int DeleteSchedule(Context& context, const std::string& name, Format format);

}  // namespace kbench::client
