// Results as RFC 4180 lines, times in seconds with every digit, one header.
#include <fmt/format.h>

#include <cctype>
#include <string>
#include <vector>

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
    "estimate_seconds,message\r\n";

// Line breaks are quoted as they are; other control bytes of others would reach a terminal.
std::string Quote(std::string text) {
  for (char& c : text) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0 && c != '\n' && c != '\r') c = '?';
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

// Empty where there is no number: 0 means "none" in all of these.
std::string Number(double value) { return value == 0 ? "" : fmt::format("{}", value); }

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
      Number(time.median()),
      Number(time.low()),
      Number(time.high()),
      Number(time.rounds()),
      Number(time.samples()),
      Number(result.throughput().flops_per_second()),
      Number(result.throughput().bytes_per_second()),
      result.is_baseline() ? result.implementation() : comparison.baseline(),
      Number(comparison.speedup()),
      Number(comparison.low()),
      Number(comparison.high()),
      verified ? "true" : "false",
      verified ? fmt::format("{}", verification.relative_error()) : "",
      Number(verification.tolerance()),
      Number(result.estimate_seconds()),
      result.message()};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + Quote(cells[i]);
  return line + "\r\n";
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
