// What launches cost, what Triton's parts cost, and how near to the roofs it all is.
#include <fmt/format.h>

#include <set>

#include "client/output/units.h"
#include "client/report/roi_tables.h"
#include "client/report/table_cells.h"

namespace kbench::client {

using kbench::v1::Result;

ReportTable LaunchTable(const RoiModel& model) {
  ReportTable table{{"case", "implementation", "host submit", "device", "end to end",
                     "speed for who waits", "stands apart"},
                    {false, false, true, true, true, true, false},
                    {}};
  for (const LaunchCosts& costs : model.launch_costs) {
    std::string title = fmt::format("{} {} {}", costs.series->kernel, costs.series->dtype,
                                    SizeText(*costs.series, costs.extent));
    if (!costs.series->rest.empty()) title += ", " + costs.series->rest;
    for (const LaunchCost& cost : costs.costs) {
      const bool is_reference = cost.row == costs.reference;
      table.rows.push_back({title, cost.row->implementation(),
                            SecondsText(cost.row->host_submit_time()),
                            Starred(SecondsText(cost.row->device_time()), *cost.row),
                            SecondsText(EndToEndOf(*cost.row)),
                            is_reference ? Faint("reference") : RatioText(cost.end_to_end),
                            cost.apart ? TableCell(*cost.apart ? "yes" : "no") : Faint("-")});
      title.clear();
    }
  }
  return table;
}

ReportTable LaunchPathTable(const std::vector<Price>& prices) {
  ReportTable table{{"case", "who", "host submit", "end to end", "device (speed)"},
                    {false, false, true, true, true},
                    {}};
  for (const Price& price : prices) {
    table.rows.push_back(
        {price.title, price.dear->implementation() + " - " + price.plain->implementation(),
         DifferenceText(price.submit), DifferenceText(price.end_to_end), RatioText(price.device)});
  }
  return table;
}

ReportTable GeneratorTable(const std::vector<Price>& prices) {
  ReportTable table{{"case", "who", "device (speed)", "side", "host submit", "within 2 us"},
                    {false, false, true, false, true, false},
                    {}};
  for (const Price& price : prices) {
    const Judgement within = SubmitWithin(price.submit);
    const char* word = within == Judgement::kReproduced      ? "yes"
                       : within == Judgement::kNotReproduced ? "no"
                       : within == Judgement::kUndecided     ? "undecided"
                                                             : "not measured";
    table.rows.push_back(
        {price.title, price.dear->implementation() + " against " + price.plain->implementation(),
         RatioText(price.device), SideName(SideOf(price.device)), DifferenceText(price.submit),
         TableCell(word, ToneOf(within))});
  }
  return table;
}

ReportTable ShareTable(const RoiModel& model) {
  ReportTable table{
      {"case", "implementation", "rate", "of datasheet peak", "of measured roof", "bound by"},
      {false, false, true, true, true, false},
      {}};
  std::set<const MeasuredCase*> seen;
  for (const Series& series : model.series) {
    const MeasuredCase& one = *series.points.back().of;
    if (!seen.insert(&one).second) continue;
    std::string title = CaseText(one);
    for (const Result& row : one.rows) {
      if (!IsUsable(row)) continue;
      const auto& rates = row.throughput();
      const bool memory = row.regime() != "compute-bound";
      table.rows.push_back(
          {title, row.implementation(), Starred(FormatRate(rates), row),
           ShareText(memory ? rates.peak_bandwidth_ratio() : rates.peak_flops_ratio()),
           ShareText(memory ? rates.roof_bandwidth_ratio() : rates.roof_flops_ratio()),
           row.regime().empty() ? "-" : row.regime()});
      title.clear();
    }
  }
  return table;
}

ReportTable TruncationTable(const std::vector<Truncation>& rows) {
  ReportTable table{{"implementation", "shape", "relative error", "of 2^-11", "inputs"},
                    {false, false, true, true, false},
                    {}};
  for (const Truncation& row : rows) {
    const char* word = row.inputs == Inputs::kRounded     ? "rounded"
                       : row.inputs == Inputs::kTruncated ? "truncated"
                                                          : "worse than truncated";
    table.rows.push_back(
        {row.implementation, row.shape, FormatError(row.relative_error),
         FormatFactor(row.relative_error / kTf32Roundoff),
         TableCell(word, row.inputs == Inputs::kRounded ? Tone::kPlain : Tone::kWeak)});
  }
  return table;
}

}  // namespace kbench::client
