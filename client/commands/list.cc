// list: jobs, newest first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/cells.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Job;

std::string What(const Job& job) {
  const auto& cases = job.cases_size() > 0 ? job.cases(0).spec() : job.spec().cases(0);
  const std::string text = CaseName(cases);
  const int count = std::max(job.cases_size(), job.spec().cases_size());
  return count > 1 ? fmt::format("{} and {} more", text, count - 1) : text;
}

std::string Age(const Job& job) {
  const double micros =
      static_cast<double>(SystemClock().WallMicros() - ToMicros(job.create_time()));
  return FormatSecondsRoughly(std::max(0.0, std::round(micros * 1e-6))) + " ago";
}

// With an answer: a case that expired or was cancelled has ended and is not done.
int Done(const Job& job) {
  if (job.cases().empty()) return job.cases_done();
  return static_cast<int>(std::count_if(
      job.cases().begin(), job.cases().end(),
      [](const auto& one) { return one.state() == kbench::v1::JOB_STATE_SUCCEEDED; }));
}

std::vector<std::string> Row(const Job& job) {
  const int count = std::max(job.cases_size(), job.spec().cases_size());
  return {JobId(job.name()),
          StateWord(job.state()),
          fmt::format("{}/{}", Done(job), count),
          Age(job),
          Cut(job.owner().empty() ? "-" : job.owner(), 12),
          Cut(count == 0 && job.spec().cases_size() == 0 ? "-" : What(job), 36)};
}

class List final : public Command {
 public:
  std::string name() const override { return "list"; }
  std::string help() const override { return "Show the latest jobs"; }

  void Declare(Arguments& arguments) override {
    arguments.Option("--state", &state_, "STATE",
                     "Only these: queued, running, succeeded, failed ...");
    arguments.Integer("--limit", &limit_, 1, 1'000'000, "N", "How many at most (default 20)");
    DeclareFormat(arguments, &format_, {"table", "json"});
  }

  int Run(Context& context) override {
    kbench::v1::JobState state = kbench::v1::JOB_STATE_UNSPECIFIED;
    if (!state_.empty()) {
      state = ParseState(state_);
      if (state == kbench::v1::JOB_STATE_UNSPECIFIED) {
        static const std::vector<std::string> kStates = {"queued", "running",   "succeeded",
                                                         "failed", "cancelled", "expired"};
        return ReportUsage(context.io,
                           fmt::format("state: there is no state '{}'; nearest: {}", state_,
                                       fmt::join(NearestWords(state_, kStates), ", ")));
      }
    }
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto jobs = ReadJobs(*backend, state, limit_);
    if (!jobs.ok()) return ReportError(context.io, jobs.status());
    Print(context.io, *jobs);
    return kExitOk;
  }

 private:
  void Print(Io& io, const std::vector<Job>& jobs) const {
    if (format_ == "json") {
      for (const Job& job : jobs) io.out << "{\"job\":" << ToJsonLine(job) << "}\n";
      return;
    }
    if (jobs.empty()) {
      io.out << "no jobs\n";
      return;
    }
    TextTable table{{"job", "state", "done", "submitted", "owner", "first case"}, {}, {}};
    for (const Job& job : jobs) table.rows.push_back(Row(job));
    io.out << table.ToString();
  }

  std::string state_;
  int limit_ = 20;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeList() { return std::make_unique<List>(); }

}  // namespace kbench::client
