// What `submit` was asked for, and the request made of it: lists and ranges become the product of
// their values. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/job_service.pb.h"

namespace kbench::client {

struct Submission {
  std::string kernels = {};             // comma-separated
  std::string dtypes = {};              // comma-separated
  std::vector<std::string> sizes = {};  // each may be a list or a range
  std::string modes = {};               // comma-separated; empty: cold
  std::string implementations = {};     // comma-separated; empty: the default choice
  std::string environments = {};        // comma-separated, of Python; empty: "default"
  std::string device = {};
  std::string flush = {};
  std::string target = {};         // "0.5%"; empty: the default
  std::string margin = {};         // "1%"; empty: the default
  std::string if_busy = {};        // wait, run, fail; empty: the default
  std::string budget = {};         // "60s"
  std::string queue_timeout = {};  // "10m"
  std::string max_age = {};        // "24h": results this old will do; empty: none
  bool share = false;              // take the results of the same case in flight
  bool fresh = false;              // measure anew, whatever was measured or went wrong before
  std::uint64_t seed = 0;
  bool profile = false;
  int priority = -1;                     // below 0: the default
  std::string priority_class = {};       // interactive, ci, batch; empty: interactive
  std::vector<std::string> labels = {};  // key=value
};

// The parts between commas, without spaces and empty ones.
std::vector<std::string> SplitList(const std::string& text);

// Only what must be understood to expand a sweep is checked here; the coordinator checks the rest.
absl::StatusOr<kbench::v1::JobSpec> BuildSpec(const Submission& submission);

}  // namespace kbench::client
