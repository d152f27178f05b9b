// Results as GitHub tables, one a case.
#include <string>

#include "client/output/cell_text.h"
#include "client/output/cells.h"
#include "client/output/report.h"
#include "client/output/words.h"
#include "proto/support/clock.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::Result;

class MarkdownReport final : public Report {
 public:
  explicit MarkdownReport(Io& io) : io_(io) {}

  void CaseEnded(const Job& job, const CaseStatus& status) override {
    if (!first_) io_.out << "\n";
    first_ = false;
    io_.out << "**" << MarkdownText(CaseTitle(status)) << "**\n\n";
    if (status.results_size() == 0) {
      io_.out << MarkdownText(NoResultsSentence(status)) << "\n";
    } else {
      io_.out << MarkdownRow(ResultHeader()) << "|:--|--:|--:|--:|--:|:--|\n";
      for (const Result& result : status.results()) io_.out << MarkdownRow(Cells(result));
    }
    for (const std::string& note : CaseNotes(status, ToMicros(job.create_time())))
      io_.out << "\n" << MarkdownText(note) << "\n";
    io_.out.flush();
  }

  void JobEnded(const Job& job) override {
    for (const std::string& note : JobNotes(job)) io_.out << "\n" << MarkdownText(note) << "\n";
    io_.out.flush();
  }

 private:
  static std::vector<std::string> Cells(const Result& result) {
    if (HasNumber(result)) return ResultCells(result, SpeedDetail::kVerdict);
    const std::string sentence = OutcomeSentence(result);
    return {result.implementation(),      sentence.empty() ? "-" : sentence, "-", "-", "-",
            OutcomeWord(result.outcome())};
  }

  Io& io_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Report> MakeMarkdownReport(Io& io) { return std::make_unique<MarkdownReport>(io); }

}  // namespace kbench::client
