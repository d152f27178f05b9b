// What a suite stands for: the jobs that measure it. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/suites/suite_file.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client {

// What the command line adds.
struct SuiteOptions {
  std::string device = {};
  std::string priority_class = "batch";  // nobody waits for a whole suite at the keyboard
  bool quick = false;                    // in place of the entries' own targets
  std::vector<std::string> labels = {};  // key=value
};

struct SuitePlan {
  // As few as can be: a job has one choice of implementations and environments and one policy, and
  // at most 1000 cases.
  std::vector<kbench::v1::JobSpec> jobs;
  int cases = 0;
  // "PATH:12: entry 2: dtype: kernel matmul has no dtype fp61; nearest: fp64, fp16"; the jobs count
  // only where there are none.
  std::vector<std::string> faults;
};

SuitePlan PlanSuite(const SuiteFile& file, const SuiteOptions& options);

// The canonical shape of a case; its size where the catalog does not take it.
std::string ShapeOf(const kbench::v1::CaseSpec& spec);

}  // namespace kbench::client
