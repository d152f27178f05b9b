// What a worker keeps on its disk, for its heartbeats and so for the coordinator's metrics. Used
// from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace kbench {

class KeptBytes {
 public:
  // By kind (Heartbeat.kept_bytes): the file or folder it lies in.
  explicit KeptBytes(std::map<std::string, std::string> places) : places_(std::move(places)) {}

  // As of the last look, by kind. Looks anew when that is a minute ago and `may_look`: compilers'
  // caches have many files, and reading their sizes would disturb a case that runs.
  const std::map<std::string, std::int64_t>& Get(double now, bool may_look);

 private:
  std::map<std::string, std::string> places_;
  std::map<std::string, std::int64_t> bytes_;
  double next_look_ = 0;
};

// Standard error where it is a file: what `kbench-client up` makes of a worker's log. Else 0.
std::int64_t OwnLogBytes();

}  // namespace kbench
