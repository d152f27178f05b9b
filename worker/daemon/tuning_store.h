// Which candidate of an implementation was the fastest on this device, on disk: a case that was
// tuned once is not tuned again. One JSON file. Written from the case thread alone; Find() may be
// called from several threads while nobody writes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kbench {

class TuningStore {
 public:
  // Reads the file. `device`: what makes everything in it void when it changes (device, driver,
  // version of kbench).
  TuningStore(std::string path, std::string device);

  // What was chosen for the cell by a runner of this making (build, engine, libraries); empty when
  // nothing was.
  std::string Find(const std::string& cell, const std::string& making) const;
  absl::Status Put(const std::string& cell, const std::string& making,
                   const std::string& candidate);
  // Nothing is known of the cell any more; of no cell at all.
  absl::Status Forget(const std::string& cell);
  absl::Status Forget();

 private:
  struct Choice {
    std::string cell;
    std::string making;
    std::string candidate;
  };
  absl::Status Save() const;

  const std::string path_;
  const std::string device_;
  std::vector<Choice> choices_;  // the latest last; one a cell
};

}  // namespace kbench
