#include "client/output/cell_states.h"

#include <fmt/format.h>

#include "client/output/cell_text.h"
#include "client/output/cell_words.h"
#include "client/output/comparison.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Baseline;
using kbench::v1::CellKey;
using kbench::v1::CellState;
using Cells = std::vector<CellState>;

// The case of a cell: what stands above its rows.
std::string CaseOf(const CellKey& cell) {
  return fmt::format("{} {} {}, {}", cell.kernel(), cell.dtype(), cell.shape(), cell.mode());
}

std::string TimeText(const CellState& state) {
  return state.seconds() > 0 ? MedianText(state.seconds(), state.low(), state.high()) : "-";
}

bool NeverValid(const CellState& state) {
  return state.newest().empty() && !state.latest().empty();
}

// What a reader should know at once: the doubt, or why nothing is compared any more.
bool HasNote(const CellState& state) {
  if (NeverValid(state)) return true;
  return !state.message().empty() &&
         (state.state() == kbench::v1::SUSPECTED || state.state() == kbench::v1::CONFIRMED ||
          state.state() == kbench::v1::INCOMPARABLE);
}

std::string Note(const CellState& state) {
  if (NeverValid(state)) {
    return fmt::format("{} on {}: no VALID result yet; the newest, {}, is {}",
                       state.cell().implementation(), state.cell().device(),
                       ShortResultName(state.latest()), state.latest_verdict());
  }
  return fmt::format("{} on {}: {}", state.cell().implementation(), state.cell().device(),
                     state.message());
}

using RowOf = std::vector<std::string> (*)(const CellState& state, double now);

struct Columns {
  std::vector<std::string> header;
  std::vector<bool> right;
  RowOf row;
  bool notes;
};

const Columns& StateColumns() {
  static const Columns columns = {
      {"implementation", "device", "state", "time", "change", "newest"},
      {false, false, false, true, true, true},
      [](const CellState& state, double now) -> std::vector<std::string> {
        // Of a cell without a VALID result the newest one shows that it is measured at all.
        const auto& newest = state.has_newest_time() ? state.newest_time() : state.latest_time();
        return {state.cell().implementation(),
                Cut(state.cell().device(), 12),
                RegressionWord(state.state()),
                TimeText(state),
                ChangeText(state),
                AgoText(newest, now)};
      },
      true};
  return columns;
}

const Columns& BaselineColumns() {
  static const Columns columns = {
      {"implementation", "device", "baseline", "result", "by", "pinned", "state"},
      {false, false, true, false, false, true, false},
      [](const CellState& state, double now) -> std::vector<std::string> {
        const Baseline& baseline = state.baseline();
        return {state.cell().implementation(),
                Cut(state.cell().device(), 12),
                MedianText(baseline.seconds(), baseline.low(), baseline.high()),
                ShortResultName(baseline.result()),
                Cut(baseline.by(), 10),
                AgoText(baseline.since(), now),
                RegressionWord(state.state())};
      },
      false};
  return columns;
}

void PrintTable(Io& io, const Columns& columns, const Cells& cells, double now) {
  for (std::size_t i = 0; i < cells.size();) {
    const std::string title = CaseOf(cells[i].cell());
    TextTable table{columns.header, {}, columns.right};
    std::vector<std::string> notes;
    std::size_t end = i;
    for (; end < cells.size() && CaseOf(cells[end].cell()) == title; ++end) {
      table.rows.push_back(columns.row(cells[end], now));
      if (columns.notes && HasNote(cells[end])) notes.push_back(Note(cells[end]));
    }
    if (i > 0) io.out << "\n";
    io.out << Wrap(Plain(title), kTableWidth, 2) << "\n" << table.ToString();
    for (const std::string& note : notes) io.out << Wrap(Plain(note), kTableWidth, 2) << "\n";
    i = end;
  }
}

void PrintMarkdown(Io& io, const Columns& columns, const Cells& cells, double now) {
  std::vector<std::string> header = {"case"};
  header.insert(header.end(), columns.header.begin(), columns.header.end());
  std::string rule = "|:--|";
  for (const bool right : columns.right) rule += right ? "--:|" : ":--|";
  io.out << MarkdownRow(header) << rule << "\n";
  for (const CellState& state : cells) {
    std::vector<std::string> row = columns.row(state, now);
    row.insert(row.begin(), CaseOf(state.cell()));
    io.out << MarkdownRow(row);
  }
  for (const CellState& state : cells) {
    if (!columns.notes || !HasNote(state)) continue;
    io.out << "\n" << MarkdownText(CaseOf(state.cell()) + ": " + Note(state)) << "\n";
  }
}

void PrintCsv(Io& io, const Cells& cells) {
  io.out << "kernel,dtype,shape,mode,implementation,device,state,since,newest,newest_time,seconds,"
            "low,high,latest,latest_time,latest_verdict,change_ratio,change_low,change_high,"
            "baseline,baseline_by,baseline_since,"
            "baseline_result,baseline_seconds,baseline_low,baseline_high,baseline_results,"
            "noise_ratio,epoch,message\r\n";
  for (const CellState& state : cells) {
    const CellKey& cell = state.cell();
    const Baseline& baseline = state.baseline();
    // No change at all is a number too.
    const auto change = [&](double value) {
      return HasChange(state) ? fmt::format("{}", value) : std::string();
    };
    io.out << CsvLine({cell.kernel(),
                       cell.dtype(),
                       cell.shape(),
                       cell.mode(),
                       cell.implementation(),
                       cell.device(),
                       RegressionWord(state.state()),
                       IsoTime(state.since()),
                       ShortResultName(state.newest()),
                       IsoTime(state.newest_time()),
                       CsvNumber(state.seconds()),
                       CsvNumber(state.low()),
                       CsvNumber(state.high()),
                       ShortResultName(state.latest()),
                       IsoTime(state.latest_time()),
                       state.latest_verdict(),
                       change(state.change_ratio()),
                       change(state.change_low()),
                       change(state.change_high()),
                       baseline.origin(),
                       baseline.by(),
                       IsoTime(baseline.since()),
                       ShortResultName(baseline.result()),
                       CsvNumber(baseline.seconds()),
                       CsvNumber(baseline.low()),
                       CsvNumber(baseline.high()),
                       CsvNumber(baseline.results()),
                       CsvNumber(baseline.noise_ratio()),
                       state.epoch(),
                       state.message()});
  }
}

void Print(Io& io, Format format, const Columns& columns, const Cells& cells, double now,
           const std::string& nothing) {
  switch (format) {
    case Format::kJson:
      for (const CellState& state : cells) {
        io.out << "{\"cell\":" << ToJsonLine(state) << "}\n";
      }
      break;
    case Format::kCsv:
      PrintCsv(io, cells);
      break;
    case Format::kMarkdown:
      PrintMarkdown(io, columns, cells, now);
      break;
    default:
      if (cells.empty()) io.out << nothing << "\n";
      PrintTable(io, columns, cells, now);
  }
  io.out.flush();
}

}  // namespace

void PrintCells(Io& io, Format format, const Cells& cells, double now, const std::string& nothing) {
  Print(io, format, StateColumns(), cells, now, nothing);
}

void PrintBaselines(Io& io, Format format, const Cells& cells, double now,
                    const std::string& nothing) {
  Print(io, format, BaselineColumns(), cells, now, nothing);
}

std::string BaselineText(const Baseline& baseline) {
  if (baseline.origin().empty()) return "";
  const std::string time = MedianText(baseline.seconds(), baseline.low(), baseline.high());
  const std::string since = FormatMinute(baseline.since().seconds());
  if (baseline.origin() == "pinned") {
    return fmt::format("pinned by {} at {}: {}, {}", baseline.by(), since,
                       ShortResultName(baseline.result()), time);
  }
  return fmt::format("{} from {} since {}: {}", baseline.origin(),
                     FormatCount(baseline.results(), "result", "results"), since, time);
}

}  // namespace kbench::client
