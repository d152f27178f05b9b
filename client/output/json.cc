// One JSON object a line, flushed at once: {"event": ...} as it comes, {"result": ...} for every
// row as soon as its case has ended. Results stand only in their own lines.
#include "proto/support/json.h"

#include <string>

#include "client/output/cells.h"
#include "client/output/report.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::JobEvent;

class JsonReport final : public Report {
 public:
  explicit JsonReport(Io& io) : io_(io) {}

  void Event(const JobEvent& event) override {
    if (event.has_ping()) return;
    JobEvent slim = event;
    if (slim.has_snapshot()) DropResults(slim.mutable_snapshot());
    if (slim.has_final()) DropResults(slim.mutable_final());
    if (slim.has_case_changed()) slim.mutable_case_changed()->clear_results();
    Line("event", slim);
  }

  void CaseEnded(const Job&, const CaseStatus& status) override {
    for (const auto& result : status.results()) Line("result", result);
  }

  // Once more, with the verdict that holds among all.
  void JobEnded(const Job& job) override {
    for (const CaseStatus& status : job.cases()) {
      for (const auto& result : status.results()) {
        if (IsOneOfMany(result.comparison())) Line("result", result);
      }
    }
  }

 private:
  static void DropResults(Job* job) {
    for (CaseStatus& status : *job->mutable_cases()) status.clear_results();
  }

  void Line(const std::string& key, const google::protobuf::Message& message) {
    io_.out << "{\"" << key << "\":" << ToJsonLine(message) << "}" << std::endl;
  }

  Io& io_;
};

}  // namespace

std::unique_ptr<Report> MakeJsonReport(Io& io) { return std::make_unique<JsonReport>(io); }

}  // namespace kbench::client
