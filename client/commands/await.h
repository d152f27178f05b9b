// What submit and watch share: following a job to its end, drawing progress and writing the report.
#pragma once

#include <string>

#include "client/command.h"
#include "client/output/report.h"

namespace kbench::client {

// The exit code: that of the job's end, or 130 after Ctrl-C (the job goes on).
int AwaitJob(Context& context, const Backend& backend, const std::string& job_name, Format format);

// Declares -o on a verb, one of `names`.
void DeclareFormat(Arguments& arguments, std::string* format,
                   const std::vector<std::string>& names = FormatNames());

}  // namespace kbench::client
