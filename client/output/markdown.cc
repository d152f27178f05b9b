// Results as GitHub tables, one a case.
#include <string>

#include "client/output/cells.h"
#include "client/output/report.h"
#include "client/output/text_table.h"
#include "client/output/words.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::Result;

std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return Plain(out);
}

std::string Row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + Escape(cell) + " |";
  return line + "\n";
}

class MarkdownReport final : public Report {
 public:
  explicit MarkdownReport(Io& io) : io_(io) {}

  void CaseEnded(const Job&, const CaseStatus& status) override {
    if (!first_) io_.out << "\n";
    first_ = false;
    io_.out << "**" << Escape(CaseTitle(status)) << "**\n\n";
    if (status.results_size() == 0) {
      io_.out << Escape(NoResultsSentence(status)) << "\n";
    } else {
      io_.out << Row(ResultHeader()) << "|:--|--:|--:|--:|--:|:--|\n";
      for (const Result& result : status.results()) io_.out << Row(Cells(result));
    }
    for (const std::string& note : CaseNotes(status)) io_.out << "\n" << Escape(note) << "\n";
    io_.out.flush();
  }

 private:
  static std::vector<std::string> Cells(const Result& result) {
    if (HasNumber(result)) return ResultCells(result, true);
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
