#include "client/report/table_cells.h"

#include "client/output/units.h"

namespace kbench::client {

Tone ToneOf(Judgement judgement) {
  switch (judgement) {
    case Judgement::kReproduced:
      return Tone::kGood;
    case Judgement::kDirection:
    case Judgement::kPartly:
    case Judgement::kUndecided:
      return Tone::kWeak;
    case Judgement::kNotReproduced:
      return Tone::kBad;
    case Judgement::kNotMeasured:
      break;
  }
  return Tone::kFaint;
}

TableCell Judged(Judgement judgement) { return {JudgementName(judgement), ToneOf(judgement)}; }

TableCell Faint(const std::string& text) { return {text, Tone::kFaint}; }

std::string ShareText(double ratio) { return ratio > 0 ? FormatPercent(ratio) : "-"; }

std::string Starred(const std::string& text, const kbench::v1::Result& row) {
  return row.verdict() == kbench::v1::VERDICT_VALID ? text : text + " *";
}

std::string CaseText(const MeasuredCase& one) {
  return one.kernel + " " + one.dtype + " " + one.shape;
}

}  // namespace kbench::client
