#include "client/output/on_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/output/cells.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/output/words.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Result;

constexpr std::size_t kMostTitle = 20;   // of a column
constexpr std::size_t kShortTitle = 10;  // where there are many

enum class Detail { kAll, kNoIntervals, kNoRatios };

const Result* RowOf(const OnColumn& column, const std::string& implementation) {
  for (const Result& result : column.status.results()) {
    if (result.implementation() == implementation) return &result;
  }
  return nullptr;
}

std::vector<std::string> Implementations(const std::vector<OnColumn>& columns) {
  std::vector<std::string> names;
  for (const OnColumn& column : columns) {
    for (const Result& result : column.status.results()) {
      const std::string& name = result.implementation();
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string TimeCell(const Result* result, Detail detail) {
  if (result == nullptr) return "-";
  if (!HasNumber(*result)) return OutcomeWord(result->outcome());
  std::string text =
      detail == Detail::kAll ? TimeText(*result) : FormatSeconds(result->device_time().median());
  if (result->verdict() == kbench::v1::VERDICT_VALID) return text;
  // The word stands beneath too, with its reason.
  text += detail == Detail::kNoRatios ? " ?" : " " + VerdictWord(result->verdict());
  return text;
}

std::string RatioCell(const Result* first, const Result* other) {
  if (first == nullptr || other == nullptr || !HasNumber(*first) || !HasNumber(*other)) return "-";
  return FormatFactor(first->device_time().median() / other->device_time().median());
}

TextTable Rows(const std::vector<OnColumn>& columns, Detail detail) {
  TextTable table;
  table.header.emplace_back("implementation");
  table.right.push_back(false);
  const auto head = [&](const std::string& text) {
    table.header.push_back(text);
    table.right.push_back(true);
  };
  const std::size_t title = detail == Detail::kNoRatios ? kShortTitle : kMostTitle;
  for (const OnColumn& column : columns) head(Cut(column.device, title));
  const bool ratios = detail != Detail::kNoRatios;
  for (std::size_t i = 1; ratios && i < columns.size(); ++i) {
    head("vs first" + (columns.size() == 2 ? "" : fmt::format(": {}", i + 1)));
  }
  for (const std::string& implementation : Implementations(columns)) {
    auto& row = table.rows.emplace_back();
    row.push_back(implementation);
    const Result* first = RowOf(columns.front(), implementation);
    for (const OnColumn& column : columns) {
      row.push_back(TimeCell(RowOf(column, implementation), detail));
    }
    for (std::size_t i = 1; ratios && i < columns.size(); ++i) {
      row.push_back(RatioCell(first, RowOf(columns[i], implementation)));
    }
  }
  return table;
}

}  // namespace

std::string OnTableText(const std::vector<OnColumn>& columns) {
  CaseStatus shown = columns.front().status;
  shown.clear_device();
  std::string text = Wrap(CaseTitle(shown), kTableWidth, 2) + "\n";
  TextTable table = Rows(columns, Detail::kAll);
  for (const Detail less : {Detail::kNoIntervals, Detail::kNoRatios}) {
    if (table.Width() > kTableWidth) table = Rows(columns, less);
  }
  if (!table.rows.empty()) text += table.ToString();
  for (const OnColumn& column : columns) {
    if (column.status.results_size() == 0) {
      text += Wrap(column.device + ": " + NoResultsSentence(column.status), kTableWidth, 2) + "\n";
    }
    for (const std::string& note : CaseNotes(column.status, column.submitted_micros)) {
      text += Wrap(column.device + ": " + note, kTableWidth, 2) + "\n";
    }
  }
  return text;
}

std::string OnFooter(const std::vector<std::string>& devices) {
  return Wrap(fmt::format("vs first: how many times as fast as on {}, above 1 is faster. Other "
                          "hardware is another experiment: these ratios describe, they are no "
                          "verdict.",
                          devices.front()),
              kTableWidth, 2) +
         "\n";
}

}  // namespace kbench::client
