// Rows, code and compiling.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "client/implementation_name.h"
#include "client/output/cells.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "client/report/lines_of_code.h"
#include "client/report/roi_tables.h"
#include "client/report/table_cells.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

std::string SecondsOrDash(double seconds) { return seconds > 0 ? FormatSeconds(seconds) : "-"; }

std::vector<TableCell> CodeRow(const std::string& kernel, const std::string& name) {
  const ImplementationLines* lines = LinesOf(kernel, name);
  if (lines == nullptr) return {kernel, name, Faint("not counted"), Faint("-"), Faint("-")};
  return {
      kernel, name, fmt::format("{}", lines->own),
      lines->headers > 0 ? TableCell(fmt::format("{}", lines->own + lines->headers)) : Faint("-"),
      lines->files};
}

}  // namespace

ReportTable CodeTable(const RoiModel& model) {
  ReportTable table{{"kernel", "implementation", "lines", "with device headers", "files"},
                    {false, false, true, true, false},
                    {}};
  std::vector<std::string> kernels;  // in the order of the series
  std::map<std::string, std::set<std::pair<Role, std::string>>> ran;
  for (const Series& series : model.series) {
    if (ran.count(series.kernel) == 0) kernels.push_back(series.kernel);
    for (const auto& point : series.points) {
      for (const Result& row : point.of->rows) {
        const std::string name = BaseOf(row.implementation());
        ran[series.kernel].emplace(RoleOf(name), name);
      }
    }
  }
  for (const std::string& kernel : kernels) {
    for (const auto& [role, name] : ran[kernel]) table.rows.push_back(CodeRow(kernel, name));
  }
  return table;
}

ReportTable CompileTable(const RoiModel& model) {
  struct Sum {
    int cases = 0;
    double compile = 0;
    double tune = 0;
    double first = 0;  // the longest
  };
  std::vector<std::string> order;
  std::map<std::string, Sum> sums;
  for (const MeasuredCase& one : model.evidence.cases) {
    for (const Result& row : one.rows) {
      if (!(row.compile_seconds() > 0) && !(row.autotune_seconds() > 0)) continue;
      const std::string key = one.kernel + " " + one.dtype + "\n" + row.implementation();
      if (sums.count(key) == 0) order.push_back(key);
      Sum& sum = sums[key];
      ++sum.cases;
      sum.compile += row.compile_seconds();
      sum.tune += row.autotune_seconds();
      sum.first = std::max(sum.first, row.first_call_seconds());
    }
  }
  ReportTable table{
      {"kernel", "implementation", "cases", "compile", "autotune", "longest first call"},
      {false, false, true, true, true, true},
      {}};
  for (const std::string& key : order) {
    const Sum& sum = sums[key];
    const std::size_t end = key.find('\n');
    table.rows.push_back({key.substr(0, end), key.substr(end + 1), fmt::format("{}", sum.cases),
                          SecondsOrDash(sum.compile), SecondsOrDash(sum.tune),
                          SecondsOrDash(sum.first)});
  }
  return table;
}

ReportTable ExceptionTable(const RoiModel& model) {
  ReportTable table{{"case", "implementation", "outcome", "why"}, {}, {}};
  for (const MeasuredCase& one : model.evidence.cases) {
    for (const Result& row : one.rows) {
      const bool ok = row.outcome() == kbench::v1::OUTCOME_OK;
      if (ok && row.verdict() == kbench::v1::VERDICT_VALID) continue;
      const std::string why = ok ? VerdictSentence(row) : OutcomeSentence(row);
      const std::string word = ok ? VerdictWord(row.verdict()) : OutcomeWord(row.outcome());
      table.rows.push_back({CaseText(one), row.implementation(), TableCell(word, Tone::kWeak),
                            why.empty() ? "no reason was given" : why});
    }
  }
  return table;
}

ReportTable RowTable(const RoiModel& model) {
  ReportTable table{{"case", "implementation", "device time", "rate", "vs baseline", "host submit",
                     "end to end", "error", "regime", "verdict"},
                    {false, false, true, true, true, true, true, true, false, false},
                    {}};
  table.title = "All rows";
  table.folded = true;
  const auto add = [&](const std::string& title, const Result& row) {
    if (!HasNumber(row)) {
      table.rows.push_back({title, row.implementation(), OutcomeWord(row.outcome())});
      return;
    }
    const std::vector<std::string> cells = ResultCells(row, SpeedDetail::kInterval);
    table.rows.push_back({title, cells[0], cells[1], cells[2], cells[3],
                          SecondsText(row.host_submit_time()), SecondsText(EndToEndOf(row)),
                          cells[4], row.regime(), cells[5]});
  };
  for (const MeasuredCase& one : model.evidence.cases) {
    for (const Result& row : one.rows) add(CaseText(one), row);
  }
  for (const Result& row : model.evidence.other_modes) {
    const auto& spec = row.case_();
    add(fmt::format("{} {} {}, {}", spec.kernel(), spec.dtype(),
                    spec.shape().empty() ? spec.size() : spec.shape(), spec.mode()),
        row);
  }
  return table;
}

}  // namespace kbench::client
