// The results that a report is made of: of one device, each implementation of each case once.
// Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/report/role.h"
#include "kbench/v1/result.pb.h"

namespace kbench::client {

// A kernel, dtype and shape in mode cold.
struct MeasuredCase {
  std::string kernel;
  std::string dtype;
  std::string shape;  // canonical
  std::vector<kbench::v1::Result> rows;

  // The fastest row of the role or family that may be used, of environment "default" where there is
  // one; nullptr where there is none.
  const kbench::v1::Result* Best(Role role) const;
  const kbench::v1::Result* BestOfFamily(const std::string& prefix) const;
  // By its whole name; nullptr where it is not there or may not be used.
  const kbench::v1::Result* Named(const std::string& implementation) const;
  // The fastest of all; nullptr where none may be used.
  const kbench::v1::Result* Fastest() const;
};

struct Evidence {
  std::string device;                   // "gpu0"
  kbench::v1::Environment environment;  // of the newest row
  std::vector<MeasuredCase> cases;      // in the order in which they were given
  std::vector<kbench::v1::Result> other_modes;
  std::vector<std::string> notes;  // what was left out, or does not fit together, a sentence each
  std::vector<std::string> jobs;   // their ids, in the order of the results

  bool cpu() const;                                        // the device is one
  std::vector<const kbench::v1::Result*> AllRows() const;  // of all modes
  const MeasuredCase* Find(const std::string& kernel, const std::string& dtype,
                           const std::string& shape) const;
};

// Whether its time may stand in a ratio: OK, with a number, and not INVALID.
bool IsUsable(const kbench::v1::Result& result);

// Of results in the order in which they were written. Where a name stands twice the later one
// counts; where several jobs measured a case, the later job, with what only the earlier ones have
// beside it. `device`: a name or UUID, where the results are of several. Errors: no results, none
// of this device, results of several devices.
absl::StatusOr<Evidence> Gather(const std::vector<kbench::v1::Result>& results,
                                const std::string& device);

}  // namespace kbench::client
