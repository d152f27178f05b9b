#include "client/output/comparison.h"

#include <fmt/format.h>

#include <regex>

#include "client/output/cell_text.h"
#include "client/output/cells.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::BaselineComparison;
using kbench::v1::Result;

constexpr char kPrefix[] = "results/";

std::string Title(const Result& result) {
  kbench::v1::CaseStatus status;
  *status.mutable_spec() = result.case_();
  return CaseTitle(status);
}

std::string DeviceText(const Result& result) {
  const std::string& model = result.environment().device_name();
  return model.empty() ? result.device() : fmt::format("{} ({})", result.device(), model);
}

std::vector<std::string> Row(const std::string& letter, const Result& result) {
  return {letter, ShortResultName(result.name()), Cut(result.implementation(), 24),
          HasNumber(result) ? TimeText(result) : OutcomeWord(result.outcome()),
          VerdictWord(result.verdict())};
}

const std::vector<std::string>& Header() {
  static const std::vector<std::string> header = {"", "result", "implementation", "time",
                                                  "verdict"};
  return header;
}

// Title and, where they differ, both devices: the message says what else does.
std::string Headline(const ComparedPair& pair) {
  const std::string a = DeviceText(pair.a);
  const std::string b = DeviceText(pair.b);
  return Title(pair.a) + ", on " + (a == b ? a : a + " and " + b);
}

std::string CyclesSentence(const BaselineComparison& comparison) {
  if (!(comparison.cycles_speedup() > 0)) return "";
  return "In device cycles: " + FormatFactor(comparison.cycles_speedup()) + ".";
}

void PrintTable(Io& io, const std::vector<ComparedPair>& pairs) {
  bool first = true;
  for (const ComparedPair& pair : pairs) {
    if (!first) io.out << "\n";
    first = false;
    io.out << Wrap(Headline(pair), kTableWidth, 2) << "\n";
    TextTable table{Header(), {Row("a", pair.a), Row("b", pair.b)}, {}};
    table.right = {false, false, false, true, false};
    io.out << table.ToString();
    for (const std::string& line : {ComparisonSentence(pair.comparison),
                                    CyclesSentence(pair.comparison), pair.comparison.message()}) {
      if (!line.empty()) io.out << Wrap(line, kTableWidth, 2) << "\n";
    }
  }
}

void PrintJson(Io& io, const std::vector<ComparedPair>& pairs) {
  for (const ComparedPair& pair : pairs) {
    io.out << "{\"compared\":{\"a\":" << ToJsonLine(pair.a) << ",\"b\":" << ToJsonLine(pair.b)
           << ",\"comparison\":" << ToJsonLine(pair.comparison) << "}}\n";
  }
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return fmt::format("{}", fmt::join(words.begin(), words.end(), " "));
}

void PrintCsv(Io& io, const std::vector<ComparedPair>& pairs) {
  io.out << "a,b,kernel,dtype,shape,mode,a_implementation,b_implementation,a_device,b_device,"
            "a_seconds,b_seconds,speedup,speedup_low,speedup_high,comparison,margin,p_value,"
            "cycles_speedup,paired,reasons,message\r\n";
  for (const ComparedPair& pair : pairs) {
    const Result& a = pair.a;
    const Result& b = pair.b;
    const BaselineComparison& comparison = pair.comparison;
    io.out << CsvLine({ShortResultName(a.name()),
                       ShortResultName(b.name()),
                       a.case_().kernel(),
                       a.case_().dtype(),
                       a.case_().shape(),
                       a.case_().mode(),
                       a.implementation(),
                       b.implementation(),
                       a.device(),
                       b.device(),
                       CsvNumber(a.device_time().median()),
                       CsvNumber(b.device_time().median()),
                       CsvNumber(comparison.speedup()),
                       CsvNumber(comparison.low()),
                       CsvNumber(comparison.high()),
                       comparison.verdict(),
                       CsvNumber(comparison.margin_ratio()),
                       CsvNumber(comparison.p_value()),
                       CsvNumber(comparison.cycles_speedup()),
                       comparison.paired() ? "true" : "false",
                       Joined(comparison.reasons()),
                       comparison.message()});
  }
}

void PrintMarkdown(Io& io, const std::vector<ComparedPair>& pairs) {
  io.out << MarkdownRow({"case", "a", "b", "a's time", "b's time", "a against b"})
         << "|:--|:--|:--|--:|--:|:--|\n";
  for (const ComparedPair& pair : pairs) {
    const auto time = [](const Result& result) {
      return HasNumber(result) ? TimeText(result) : OutcomeWord(result.outcome());
    };
    io.out << MarkdownRow({Headline(pair), pair.a.implementation(), pair.b.implementation(),
                           time(pair.a), time(pair.b),
                           SpeedText(pair.comparison, SpeedDetail::kVerdict)});
  }
  for (const ComparedPair& pair : pairs) {
    if (pair.comparison.message().empty()) continue;
    io.out << "\n" << MarkdownText(Title(pair.a) + ": " + pair.comparison.message()) << "\n";
  }
}

}  // namespace

std::string ShortResultName(const std::string& name) {
  return name.rfind(kPrefix, 0) == 0 ? name.substr(sizeof(kPrefix) - 1) : name;
}

std::string WholeResultName(const std::string& name) { return kPrefix + ShortResultName(name); }

bool IsResultName(const std::string& name) {
  static const std::regex pattern("(results/)?[^/]+-[0-9]+-[0-9]+");
  return std::regex_match(name, pattern);
}

std::string ComparisonSentence(const BaselineComparison& comparison) {
  if (!(comparison.speedup() > 0)) return "Not compared.";
  const std::string& verdict = comparison.verdict();
  std::string text = "Inconclusive";
  if (verdict == "faster" || verdict == "slower") text = "a is " + verdict + " than b";
  if (verdict == "equivalent") text = "a and b are equivalent";
  return fmt::format("{}: a has {} the speed of b ({}; differences up to {} do not matter).", text,
                     SpeedText(comparison, SpeedDetail::kInterval),
                     comparison.paired() ? "compared round by round" : "measured apart",
                     FormatPercent(comparison.margin_ratio()));
}

void PrintComparisons(Io& io, Format format, const std::vector<ComparedPair>& pairs) {
  switch (format) {
    case Format::kJson:
      PrintJson(io, pairs);
      break;
    case Format::kCsv:
      PrintCsv(io, pairs);
      break;
    case Format::kMarkdown:
      PrintMarkdown(io, pairs);
      break;
    default:
      PrintTable(io, pairs);
  }
  io.out.flush();
}

}  // namespace kbench::client
