// The table a person sees: one block a case, at most 90 columns.
#include <string>
#include <vector>

#include "client/output/cells.h"
#include "client/output/report.h"
#include "client/output/text_table.h"
#include "client/output/words.h"
#include "proto/support/clock.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::Result;

TextTable Rows(const CaseStatus& status, SpeedDetail detail) {
  TextTable table;
  table.header = ResultHeader();
  table.right = {false, true, true, true, true, false};
  for (const Result& result : status.results()) {
    if (HasNumber(result)) {
      table.rows.push_back(ResultCells(result, detail));
      continue;
    }
    const std::string sentence = OutcomeSentence(result);
    table.rows.push_back({result.implementation(), OutcomeWord(result.outcome()) +
                                                       (sentence.empty() ? "" : ": " + sentence)});
  }
  return table;
}

class TableReport final : public Report {
 public:
  explicit TableReport(Io& io) : io_(io) {}

  void CaseEnded(const Job& job, const CaseStatus& status) override {
    if (!first_) io_.out << "\n";
    first_ = false;
    io_.out << Wrap(CaseTitle(status), kTableWidth, 2) << "\n";
    if (status.results_size() == 0) {
      io_.out << Wrap(NoResultsSentence(status), kTableWidth, 2) << "\n";
    } else {
      TextTable table = Rows(status, SpeedDetail::kVerdict);
      for (const SpeedDetail less : {SpeedDetail::kInterval, SpeedDetail::kFactor}) {
        if (table.Width() > kTableWidth) table = Rows(status, less);
      }
      io_.out << table.ToString();
    }
    for (const std::string& note : CaseNotes(status, ToMicros(job.create_time()))) {
      io_.out << Wrap(note, kTableWidth, 2) << "\n";
    }
    io_.out.flush();
  }

  void JobEnded(const Job& job) override {
    for (const std::string& note : JobNotes(job)) io_.out << Wrap(note, kTableWidth, 2) << "\n";
    io_.out.flush();
  }

 private:
  Io& io_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Report> MakeTableReport(Io& io) { return std::make_unique<TableReport>(io); }

}  // namespace kbench::client
