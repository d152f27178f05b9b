#include "client/output/cell_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "client/output/cell_plot.h"
#include "client/output/cell_states.h"
#include "client/output/cell_text.h"
#include "client/output/cell_words.h"
#include "client/output/comparison.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::CellState;
using kbench::v1::ChangePoint;
using kbench::v1::Epoch;
using kbench::v1::History;
using kbench::v1::HistoryPoint;
using Points = std::vector<HistoryPoint>;

constexpr std::size_t kLeastPlot = 11;
constexpr std::size_t kMostPlot = 40;

Points Newest(const History& history, int most) {
  const int skip = most > 0 ? std::max(0, history.points_size() - most) : 0;
  return {history.points().begin() + skip, history.points().end()};
}

// What is to be known before the rows: state, baseline, and what measured it again.
std::vector<std::string> Headlines(const History& history) {
  const CellState& state = history.state();
  std::vector<std::string> lines = {CellTitle(state.cell()) + ": " + RegressionWord(state.state())};
  if (state.has_since()) lines[0] += " since " + FormatMinute(state.since().seconds());
  if (!state.message().empty()) lines.push_back(state.message());
  if (HasChange(state)) lines.push_back("change against the baseline: " + ChangeText(state));
  if (state.has_baseline()) lines.push_back("baseline: " + BaselineText(state.baseline()));
  if (state.baseline().noise_ratio() > 0) {
    lines.push_back("its results lie apart by " + FormatPercent(state.baseline().noise_ratio()) +
                    " (standard deviation) when nothing changes");
  }
  if (!state.confirmations().empty()) {
    lines.push_back(
        fmt::format("measured again by {}",
                    fmt::join(state.confirmations().begin(), state.confirmations().end(), ", ")));
  }
  return lines;
}

std::string EpochLine(const Epoch& epoch) {
  return fmt::format("epoch {} since {}: {}", epoch.id(), FormatMinute(epoch.since().seconds()),
                     epoch.changed().empty() ? "the first that is remembered" : epoch.changed());
}

std::string ChangeLine(const ChangePoint& change) {
  const std::string why = change.sentence().empty() ? "" : "; " + change.sentence();
  return fmt::format("changed at {} with {}: {}{}{}", FormatMinute(change.time().seconds()),
                     ShortResultName(change.result()), SignedPercent(change.ratio() - 1),
                     change.new_epoch() ? ", a new epoch" : "", why);
}

// The rows without the plot. Epochs stand in them where there are several.
TextTable Rows(const Points& points) {
  TextTable table{{"time", "result", "median", "verdict"}, {}, {false, false, true, false}};
  std::set<std::string> epochs;
  for (const HistoryPoint& point : points) epochs.insert(point.epoch());
  const bool several = epochs.size() > 1;
  if (several) table.header.emplace_back("epoch");
  for (const HistoryPoint& point : points) {
    std::vector<std::string> row = {
        FormatMinute(point.time().seconds()), ShortResultName(point.result()),
        MedianText(point.seconds(), point.low(), point.high()), point.verdict()};
    if (several) row.push_back(point.epoch());
    table.rows.push_back(std::move(row));
  }
  return table;
}

void AddPlot(const Points& points, double baseline, TextTable* table) {
  const std::size_t taken = table->Width() + 2;
  if (taken + kLeastPlot > kTableWidth || points.size() < 2) return;
  const CellPlot plot(points, baseline, std::min(kTableWidth - taken, kMostPlot));
  table->header.push_back(plot.Header());
  for (std::size_t i = 0; i < points.size(); ++i) table->rows[i].push_back(plot.Row(points[i]));
}

void PrintTable(Io& io, const History& history, const Points& points) {
  const auto line = [&](const std::string& text) {
    io.out << Wrap(Plain(text), kTableWidth, 2) << "\n";
  };
  for (const std::string& text : Headlines(history)) line(text);
  if (!points.empty()) {
    TextTable table = Rows(points);
    AddPlot(points, history.state().baseline().seconds(), &table);
    io.out << "\n" << table.ToString();
  }
  const auto hidden = static_cast<long>(history.points_size()) - static_cast<long>(points.size());
  if (hidden > 0) {
    line(fmt::format("{} older: -n {} shows all", FormatCount(hidden, "result is", "results are"),
                     history.points_size()));
  }
  if (history.epochs_size() + history.changes_size() > 0) io.out << "\n";
  for (const Epoch& epoch : history.epochs()) line(EpochLine(epoch));
  for (const ChangePoint& change : history.changes()) line(ChangeLine(change));
}

void PrintMarkdown(Io& io, const History& history, const Points& points) {
  bool first = true;
  for (const std::string& text : Headlines(history)) {
    const std::string safe = MarkdownText(text);
    io.out << (first ? "**" + safe + "**" : safe) << "\n\n";
    first = false;
  }
  io.out << MarkdownRow({"time", "result", "median", "verdict", "epoch"})
         << "|:--|:--|--:|:--|:--|\n";
  for (const HistoryPoint& point : points) {
    io.out << MarkdownRow({FormatMinute(point.time().seconds()), ShortResultName(point.result()),
                           MedianText(point.seconds(), point.low(), point.high()), point.verdict(),
                           point.epoch()});
  }
  for (const Epoch& epoch : history.epochs())
    io.out << "\n" << MarkdownText(EpochLine(epoch)) << "\n";
  for (const ChangePoint& change : history.changes())
    io.out << "\n" << MarkdownText(ChangeLine(change)) << "\n";
}

// A change stands in the line of the first result behind it.
void PrintCsv(Io& io, const History& history, const Points& points) {
  io.out << "kernel,dtype,shape,mode,implementation,device,time,result,seconds,low,high,verdict,"
            "epoch,change_ratio,change_p_value,change\r\n";
  const auto& cell = history.state().cell();
  for (const HistoryPoint& point : points) {
    const auto change =
        std::find_if(history.changes().begin(), history.changes().end(),
                     [&](const ChangePoint& one) { return one.result() == point.result(); });
    const bool changed = change != history.changes().end();
    io.out << CsvLine(
        {cell.kernel(), cell.dtype(), cell.shape(), cell.mode(), cell.implementation(),
         cell.device(), IsoTime(point.time()), ShortResultName(point.result()),
         CsvNumber(point.seconds()), CsvNumber(point.low()), CsvNumber(point.high()),
         point.verdict(), point.epoch(), changed ? CsvNumber(change->ratio()) : "",
         changed ? CsvNumber(change->p_value()) : "", changed ? change->sentence() : ""});
  }
}

void PrintJson(Io& io, History history, const Points& points) {
  history.mutable_points()->Clear();
  history.mutable_points()->Add(points.begin(), points.end());
  io.out << "{\"history\":" << ToJsonLine(history) << "}\n";
}

}  // namespace

void PrintHistory(Io& io, Format format, const History& history, int most) {
  const Points points = Newest(history, most);
  switch (format) {
    case Format::kJson:
      PrintJson(io, history, points);
      break;
    case Format::kCsv:
      PrintCsv(io, history, points);
      break;
    case Format::kMarkdown:
      PrintMarkdown(io, history, points);
      break;
    default:
      PrintTable(io, history, points);
  }
  io.out.flush();
}

}  // namespace kbench::client
