// --on A,B: the same measurement as one job a device, watched together and told side by side.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/command.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client {

inline constexpr std::size_t kMostOnDevices = 6;  // as many columns fit

struct OnOutcome {
  int code = 0;  // the worst of all jobs; 130 after Ctrl-C
  // Those that ended, with the device as typed.
  std::vector<std::pair<std::string, kbench::v1::Job>> ended;
};

// The devices of "A,B": two at least, none twice.
absl::StatusOr<std::vector<std::string>> ParseOn(const std::string& text);

// Submits every spec once for each device, none unless the coordinator would take all, and follows
// them to their end. `format` as -o takes it.
OnOutcome RunOnDevices(Context& context, const Backend& backend,
                       const std::vector<kbench::v1::JobSpec>& specs,
                       const std::vector<std::string>& devices, const std::string& format,
                       bool detach);

}  // namespace kbench::client
