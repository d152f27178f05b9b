#include "worker/experiment/compare.h"

#include "worker/stats/clocked_comparison.h"

namespace kbench::experiment {
namespace {

stats::RoundSeries SeriesOf(const CellRecord& record) {
  stats::RoundSeries series;
  for (const RoundRecord& round : record.rounds) {
    series.Add(round.round, round.median, round.clock_hertz);
  }
  return series;
}

}  // namespace

bool Compare(const std::string& baseline_name, const CellRecord& baseline, const CellRecord& own,
             double margin_ratio, v1::BaselineComparison* comparison) {
  const double margin = margin_ratio > 0 ? margin_ratio : stats::kDefaultMargin;
  const auto compared = stats::CompareRounds(SeriesOf(own), SeriesOf(baseline), margin);
  const stats::Interval& ratio = compared.seconds.ratio;
  if (compared.seconds.pairs == 0) return false;
  comparison->set_baseline(baseline_name);
  // The ratio is a time over the baseline's; a speedup is its inverse.
  comparison->set_speedup(1 / ratio.centre);
  if (ratio.low > 0) {
    comparison->set_low(1 / ratio.high);
    comparison->set_high(1 / ratio.low);
  } else {
    comparison->add_reasons("FEW_ROUNDS");
  }
  comparison->set_verdict(stats::VerdictName(compared.seconds.verdict));
  comparison->set_margin_ratio(margin);
  comparison->set_p_value(compared.seconds.p_value);
  if (compared.cycles_ratio > 0) comparison->set_cycles_speedup(1 / compared.cycles_ratio);
  comparison->set_paired(true);
  if (compared.clock_confounded) {
    comparison->add_reasons("CLOCK_CONFOUNDED");
    comparison->set_message(
        "the two ran at different clocks: in device cycles the verdict is another one");
  }
  return true;
}

}  // namespace kbench::experiment
