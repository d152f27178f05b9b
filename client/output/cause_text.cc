#include "client/output/cause_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/output/cell_text.h"
#include "client/output/cell_words.h"
#include "client/output/comparison.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Cause;
using kbench::v1::Difference;

constexpr char kNoDifference[] = "nothing else that is recorded differs";

std::string Between(const Cause& cause) {
  if (cause.a() == cause.b()) {
    return fmt::format("{}: the newest result, {}, is the one that stands for the baseline",
                       CellTitle(cause.cell()), ShortResultName(cause.b()));
  }
  const std::string both =
      fmt::format("from {} to {}", ShortResultName(cause.a()), ShortResultName(cause.b()));
  // A title of one of two cells would be wrong of the other.
  const auto& all = cause.differences();
  const bool two = std::any_of(all.begin(), all.end(),
                               [](const Difference& one) { return one.kind() == "cell"; });
  return two ? both : CellTitle(cause.cell()) + ": " + both;
}

std::string RatioCell(const Difference& one) {
  return one.ratio() > 0 ? FormatFactor(one.ratio()) : "-";
}

void PrintTable(Io& io, const Cause& cause) {
  io.out << Wrap(Plain(cause.sentence()), kTableWidth, 2) << "\n"
         << Wrap(Plain(Between(cause)), kTableWidth, 2) << "\n\n";
  if (cause.differences().empty()) {
    io.out << kNoDifference << "\n";
    return;
  }
  TextTable table{{"what", "kind", "ratio", "before", "after"}, {}, {false, false, true}};
  for (const Difference& one : cause.differences()) {
    table.rows.push_back(
        {one.name(), one.kind(), RatioCell(one), Cut(Plain(one.a()), 24), Cut(Plain(one.b()), 24)});
  }
  io.out << table.ToString();
}

void PrintMarkdown(Io& io, const Cause& cause) {
  io.out << "**" << MarkdownText(cause.sentence()) << "**\n\n"
         << MarkdownText(Between(cause)) << "\n\n";
  if (cause.differences().empty()) {
    io.out << kNoDifference << "\n";
    return;
  }
  io.out << MarkdownRow({"what", "kind", "ratio", "before", "after"}) << "|:--|:--|--:|:--|:--|\n";
  for (const Difference& one : cause.differences())
    io.out << MarkdownRow({one.name(), one.kind(), RatioCell(one), one.a(), one.b()});
}

// One line a difference, one without where there is none: the cause is never lost.
void PrintCsv(Io& io, const Cause& cause) {
  io.out << "a,b,kernel,dtype,shape,mode,implementation,device,verdict,time_ratio,cycles_ratio,"
            "sentence,difference,kind,before,after,ratio\r\n";
  std::vector<Difference> all(cause.differences().begin(), cause.differences().end());
  if (all.empty()) all.emplace_back();
  const auto& cell = cause.cell();
  for (const Difference& one : all) {
    io.out << CsvLine({ShortResultName(cause.a()), ShortResultName(cause.b()), cell.kernel(),
                       cell.dtype(), cell.shape(), cell.mode(), cell.implementation(),
                       cell.device(), cause.verdict(), fmt::format("{}", cause.time_ratio()),
                       CsvNumber(cause.cycles_ratio()), cause.sentence(), one.name(), one.kind(),
                       one.a(), one.b(), CsvNumber(one.ratio())});
  }
}

}  // namespace

void PrintCause(Io& io, Format format, const Cause& cause) {
  switch (format) {
    case Format::kJson:
      io.out << "{\"cause\":" << ToJsonLine(cause) << "}\n";
      break;
    case Format::kCsv:
      PrintCsv(io, cause);
      break;
    case Format::kMarkdown:
      PrintMarkdown(io, cause);
      break;
    default:
      PrintTable(io, cause);
  }
  io.out.flush();
}

}  // namespace kbench::client
