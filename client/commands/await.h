// What submit and watch share: following a job to its end, drawing progress and writing the report.
#pragma once

#include <string>
#include <vector>

#include "client/command.h"
#include "client/output/report.h"

namespace kbench::client {

struct Awaited {
  int code = 0;        // of the job's end, or 130 after Ctrl-C (the job goes on)
  bool ended = false;  // and `job` is whole
  kbench::v1::Job job;
};
// For a verb that shows something else of the job than its rows.
class SilentReport final : public Report {
 public:
  void CaseEnded(const kbench::v1::Job&, const kbench::v1::CaseStatus&) override {}
};

// Writes to the report as the job goes on.
Awaited AwaitJob(Context& context, const Backend& backend, const std::string& job_name,
                 Report& report);
Awaited AwaitJob(Context& context, const Backend& backend, const std::string& job_name,
                 Format format);

// Submits as who we are there; the same `request_id` twice gives the same job.
absl::StatusOr<kbench::v1::Job> SubmitSpec(const Backend& backend, kbench::v1::JobSpec spec,
                                           const std::string& request_id);
// What would be submitted, or why it would not be taken. Queues nothing.
absl::StatusOr<kbench::v1::Job> ValidateSpec(const Backend& backend, kbench::v1::JobSpec spec);

// The newest jobs in this state (unspecified: any), at most `most`. A list tells what was asked for
// and how far each is, not how its cases went.
absl::StatusOr<std::vector<kbench::v1::Job>> ReadJobs(const Backend& backend,
                                                      kbench::v1::JobState state, int most);

// Declares -o on a verb, one of `names`.
void DeclareFormat(Arguments& arguments, std::string* format,
                   const std::vector<std::string>& names = FormatNames());

}  // namespace kbench::client
