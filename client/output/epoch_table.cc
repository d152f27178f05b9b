#include "client/output/epoch_table.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/output/cell_text.h"
#include "client/output/cell_words.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Epoch;
using kbench::v1::EpochReport;
using kbench::v1::EpochRow;

std::string EpochName(const Epoch& epoch) {
  return fmt::format("{} (since {})", epoch.id(), FormatMinute(epoch.since().seconds()));
}

// "driver 580.95 -> 580.159; cublas 13.0 -> 13.1". Of neighbours the coordinator says it, and knows
// which facts were only heard of later.
std::string Changed(const EpochReport& report, bool neighbours) {
  if (neighbours) return report.after().changed();
  using Facts = std::map<std::string, std::string>;
  const auto facts = [](const Epoch& epoch) {
    return Facts(epoch.environment().begin(), epoch.environment().end());
  };
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [name, value] : facts(report.before())) both[name].first = value;
  for (const auto& [name, value] : facts(report.after())) both[name].second = value;
  std::vector<std::string> parts;
  for (const auto& [name, values] : both) {
    const auto& [then, now] = values;
    if (then == now) continue;
    parts.push_back(
        fmt::format("{} {} -> {}", name, then.empty() ? "none" : then, now.empty() ? "none" : now));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> Headlines(const EpochReport& report, bool neighbours) {
  std::vector<std::string> lines = {fmt::format("{}: from epoch {} to {}", report.device(),
                                                EpochName(report.before()),
                                                EpochName(report.after()))};
  const std::string changed = Changed(report, neighbours);
  if (!changed.empty()) lines.push_back("changed: " + changed);
  return lines;
}

// "2 slower, 1 faster, 9 equivalent"
std::string Verdicts(const EpochReport& report) {
  std::map<std::string, long> count;
  for (const EpochRow& row : report.rows()) ++count[row.verdict()];
  std::vector<std::string> parts;
  for (const char* verdict : {"slower", "faster", "equivalent", "inconclusive"}) {
    if (count[verdict] > 0) parts.push_back(fmt::format("{} {}", count[verdict], verdict));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> Notes(const EpochReport& report) {
  std::vector<std::string> notes;
  if (!report.rows().empty()) {
    notes.push_back(fmt::format("{}: {}; the time is {} of the one before (geometric mean)",
                                FormatCount(report.rows_size(), "cell", "cells"), Verdicts(report),
                                FormatFactor(report.geometric_mean())));
  } else {
    notes.emplace_back("no cell was measured in both");
  }
  const auto one_side = [&](int count, const char* what) {
    if (count > 0) notes.push_back(FormatCount(count, "cell", "cells") + what);
  };
  one_side(report.only_before(), " only before: not measured again since");
  one_side(report.only_after(), " only after: not measured before");
  return notes;
}

// What is typed for it, but for the device, which all have in common.
std::string ShortCell(const EpochRow& row) {
  const auto& cell = row.cell();
  return fmt::format("{} {} {} {} {}", cell.kernel(), cell.dtype(), TypedSize(cell),
                     cell.implementation(), cell.mode());
}

std::vector<std::string> Row(const EpochRow& row) {
  return {ShortCell(row), FormatSeconds(row.before_seconds()), FormatSeconds(row.after_seconds()),
          RatioText(row.ratio(), row.low(), row.high()), row.verdict()};
}

const std::vector<std::string>& Header() {
  static const std::vector<std::string> header = {"cell", "before", "after", "after / before",
                                                  "verdict"};
  return header;
}

void PrintTable(Io& io, const EpochReport& report, bool neighbours) {
  const auto line = [&](const std::string& text) {
    io.out << Wrap(Plain(text), kTableWidth, 2) << "\n";
  };
  for (const std::string& text : Headlines(report, neighbours)) line(text);
  io.out << "\n";
  if (!report.rows().empty()) {
    TextTable table{Header(), {}, {false, true, true, true, false}};
    for (const EpochRow& row : report.rows()) table.rows.push_back(Row(row));
    io.out << table.ToString();
  }
  for (const std::string& text : Notes(report)) line(text);
}

void PrintMarkdown(Io& io, const EpochReport& report, bool neighbours) {
  for (const std::string& text : Headlines(report, neighbours))
    io.out << MarkdownText(text) << "\n\n";
  if (!report.rows().empty()) {
    io.out << MarkdownRow(Header()) << "|:--|--:|--:|--:|:--|\n";
    for (const EpochRow& row : report.rows()) io.out << MarkdownRow(Row(row));
    io.out << "\n";
  }
  for (const std::string& text : Notes(report)) io.out << MarkdownText(text) << "\n\n";
}

// What is said of all of them goes beside the file.
void PrintCsv(Io& io, const EpochReport& report, bool neighbours) {
  io.out << "kernel,dtype,shape,mode,implementation,device,before_epoch,after_epoch,"
            "before_seconds,after_seconds,ratio,low,high,verdict\r\n";
  for (const EpochRow& row : report.rows()) {
    const auto& cell = row.cell();
    io.out << CsvLine({cell.kernel(), cell.dtype(), cell.shape(), cell.mode(),
                       cell.implementation(), cell.device(), report.before().id(),
                       report.after().id(), CsvNumber(row.before_seconds()),
                       CsvNumber(row.after_seconds()), CsvNumber(row.ratio()), CsvNumber(row.low()),
                       CsvNumber(row.high()), row.verdict()});
  }
  for (const std::string& text : Headlines(report, neighbours)) io.err << Plain(text) << "\n";
  for (const std::string& text : Notes(report)) io.err << Plain(text) << "\n";
  io.err.flush();
}

}  // namespace

void PrintEpochs(Io& io, Format format, const EpochReport& report, bool neighbours) {
  switch (format) {
    case Format::kJson:
      io.out << "{\"epochs\":" << ToJsonLine(report) << "}\n";
      break;
    case Format::kCsv:
      PrintCsv(io, report, neighbours);
      break;
    case Format::kMarkdown:
      PrintMarkdown(io, report, neighbours);
      break;
    default:
      PrintTable(io, report, neighbours);
  }
  io.out.flush();
}

}  // namespace kbench::client
