#include "server/history/epoch_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/history/compare.h"
#include "server/history/points.h"
#include "stats/summary.h"
#include "worker/stats/comparison.h"

namespace kbench::history {
namespace {

constexpr std::size_t kLeastMedians = 4;  // a side: below, ranks have no 95 % interval

std::vector<const v1::Result*> Counted(const std::vector<v1::Result>& results) {
  std::vector<const v1::Result*> counted;
  for (const v1::Result& result : results) {
    if (IsValid(PointOf(result))) counted.push_back(&result);
  }
  return counted;
}

std::vector<double> Medians(const std::vector<const v1::Result*>& results) {
  std::vector<double> medians;
  for (const v1::Result* result : results) medians.push_back(result->device_time().median());
  return medians;
}

const v1::Result& Middle(std::vector<const v1::Result*> results) {
  std::stable_sort(results.begin(), results.end(), [](const auto* x, const auto* y) {
    return x->device_time().median() < y->device_time().median();
  });
  return *results[(results.size() - 1) / 2];
}

// In the words of a comparison of two results, so that its bound on false discoveries serves.
v1::BaselineComparison ByMedians(const std::vector<double>& before,
                                 const std::vector<double>& after, double margin) {
  const stats::Comparison compared = stats::CompareUnpaired(after, before, margin, 0);
  v1::BaselineComparison comparison;
  comparison.set_speedup(1 / compared.ratio.centre);
  if (compared.ratio.low > 0) {
    comparison.set_low(1 / compared.ratio.high);
    comparison.set_high(1 / compared.ratio.low);
  }
  comparison.set_verdict(stats::VerdictName(compared.verdict));
  return comparison;
}

// The times that stand in the row are those that were compared.
v1::BaselineComparison Compare(const EpochCell& cell, const std::vector<const v1::Result*>& before,
                               const std::vector<const v1::Result*>& after,
                               const EpochReportOptions& options, v1::EpochRow& row) {
  const double margin = options.margin_ratio > 0 ? options.margin_ratio : stats::kDefaultMargin;
  if (before.size() >= kLeastMedians && after.size() >= kLeastMedians) {
    row.set_before_seconds(stats::Median(Medians(before)));
    row.set_after_seconds(stats::Median(Medians(after)));
    return ByMedians(Medians(before), Medians(after), margin);
  }
  row.set_before_seconds(Middle(before).device_time().median());
  row.set_after_seconds(Middle(after).device_time().median());
  const double device = options.between_session_ratio > 0 ? options.between_session_ratio
                                                          : stats::kBetweenSessionPrior;
  return CompareResults(Middle(after), Middle(before),
                        {.margin_ratio = margin,
                         .force = true,  // that the environments differ is the point
                         .between_session_ratio = std::max(device, cell.noise_ratio)});
}

}  // namespace

v1::EpochReport CompareEpochs(const std::string& device, const v1::Epoch& before,
                              const v1::Epoch& after, const std::vector<EpochCell>& cells,
                              const EpochReportOptions& options) {
  v1::EpochReport report;
  report.set_device(device);
  *report.mutable_before() = before;
  *report.mutable_after() = after;
  std::vector<std::pair<v1::EpochRow, v1::BaselineComparison>> rows;
  for (const EpochCell& cell : cells) {
    const auto old_results = Counted(cell.before);
    const auto new_results = Counted(cell.after);
    if (old_results.empty() || new_results.empty()) {
      if (!old_results.empty()) report.set_only_before(report.only_before() + 1);
      if (!new_results.empty()) report.set_only_after(report.only_after() + 1);
      continue;
    }
    v1::EpochRow row;
    *row.mutable_cell() = cell.cell;
    v1::BaselineComparison compared = Compare(cell, old_results, new_results, options, row);
    rows.emplace_back(std::move(row), std::move(compared));
  }
  std::vector<v1::BaselineComparison*> family;
  for (auto& [row, comparison] : rows) family.push_back(&comparison);
  BoundFalseDiscoveries(family);
  double logs = 0;
  for (auto& [row, comparison] : rows) {
    row.set_ratio(comparison.speedup() > 0 ? 1 / comparison.speedup()
                                           : row.after_seconds() / row.before_seconds());
    if (comparison.low() > 0) {
      row.set_low(1 / comparison.high());
      row.set_high(1 / comparison.low());
    }
    row.set_verdict(comparison.verdict());
    logs += std::log(row.ratio());
  }
  if (!rows.empty()) report.set_geometric_mean(std::exp(logs / static_cast<double>(rows.size())));
  std::stable_sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) {
    return std::fabs(std::log(x.first.ratio())) > std::fabs(std::log(y.first.ratio()));
  });
  for (auto& [row, comparison] : rows) *report.add_rows() = std::move(row);
  return report;
}

}  // namespace kbench::history
