// Results as RFC 4180 lines, times in seconds with every digit, one header.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "client/output/cell_text.h"
#include "client/output/cells.h"
#include "client/output/report.h"
#include "client/output/words.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::Result;

constexpr char kHeader[] =
    "job,case,kernel,dtype,shape,mode,device,implementation,outcome,reason,verdict,"
    "verdict_reasons,median_seconds,low_seconds,high_seconds,rounds,samples,flops_per_second,"
    "bytes_per_second,baseline,speedup,speedup_low,speedup_high,verified,relative_error,tolerance,"
    "estimate_seconds,message,comparison,p_value,history_low_seconds,history_high_seconds\r\n";

std::string Join(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return fmt::format("{}", fmt::join(words.begin(), words.end(), " "));
}

std::string Line(const Job& job, const CaseStatus& status, const Result& result) {
  const auto& spec = status.spec();
  const auto& time = result.device_time();
  const auto& verification = result.verification();
  const auto& comparison = result.comparison();
  const bool verified = verification.verified();
  const std::vector<std::string> cells = {
      JobId(job.name()),
      fmt::format("{}", status.index()),
      spec.kernel(),
      spec.dtype(),
      spec.shape().empty() ? spec.size() : spec.shape(),
      spec.mode().empty() ? "cold" : spec.mode(),
      status.device(),
      result.implementation(),
      OutcomeWord(result.outcome()),
      result.reason(),
      result.verdict() == kbench::v1::VERDICT_UNSPECIFIED ? "" : VerdictWord(result.verdict()),
      Join(result.verdict_reasons()),
      CsvNumber(time.median()),
      CsvNumber(time.low()),
      CsvNumber(time.high()),
      CsvNumber(time.rounds()),
      CsvNumber(time.samples()),
      CsvNumber(result.throughput().flops_per_second()),
      CsvNumber(result.throughput().bytes_per_second()),
      result.is_baseline() ? result.implementation() : comparison.baseline(),
      CsvNumber(comparison.speedup()),
      CsvNumber(comparison.low()),
      CsvNumber(comparison.high()),
      verified ? "true" : "false",
      verified ? fmt::format("{}", verification.relative_error()) : "",
      CsvNumber(verification.tolerance()),
      CsvNumber(result.estimate_seconds()),
      result.message(),
      comparison.verdict(),
      CsvNumber(comparison.p_value()),
      CsvNumber(time.history_low()),
      CsvNumber(time.history_high())};
  return CsvLine(cells);
}

class CsvReport final : public Report {
 public:
  explicit CsvReport(Io& io) : io_(io) {}

  void CaseEnded(const Job& job, const CaseStatus& status) override {
    if (first_) io_.out << kHeader;
    first_ = false;
    for (const Result& result : status.results()) io_.out << Line(job, status, result);
    if (status.results_size() == 0) io_.out << Line(job, status, NoResult(status));
    io_.out.flush();
  }

  // A line that was written stays: what is to be said of it goes beside the file.
  void JobEnded(const Job& job) override {
    for (const std::string& note : JobNotes(job)) io_.err << note << "\n";
    io_.err.flush();
  }

 private:
  // A case that ended without a result still gets its line.
  static Result NoResult(const CaseStatus& status) {
    Result result;
    result.set_outcome(status.state() == kbench::v1::JOB_STATE_CANCELLED
                           ? kbench::v1::OUTCOME_CANCELLED
                           : kbench::v1::OUTCOME_INFRA);
    result.set_reason(status.reason().empty() ? StateWord(status.state()) : status.reason());
    result.set_message(status.message());
    return result;
  }

  Io& io_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Report> MakeCsvReport(Io& io) { return std::make_unique<CsvReport>(io); }

}  // namespace kbench::client
