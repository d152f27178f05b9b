// The regimes, the essay's figures beside ours, and a kernel by size.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/output/units.h"
#include "client/report/roi_tables.h"
#include "client/report/table_cells.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

// The lowest to the highest of the sizes, in brackets from the lowest to the highest end.
std::string RangeText(const RegimeClaim& claim) {
  if (claim.least.value == claim.most.value) return RatioText(claim.least);
  Ratio ends = claim.most;
  ends.low = claim.least.low;
  if (!claim.least.sure() || !claim.most.sure()) ends.low = ends.high = 0;
  Ratio least = claim.least;
  least.low = least.high = 0;
  return RatioText(least) + " to " + RatioText(ends);
}

std::string Against(const SeriesRegimes& regimes, bool cpu) {
  if (regimes.subject == Role::kOther || regimes.reference == Role::kOther) return "-";
  return RoleName(regimes.subject, cpu) + " against " + RoleName(regimes.reference, cpu);
}

TableCell BoundaryCell(const Series& series, const Boundary& boundary) {
  const bool found = boundary.state == Boundary::State::kFound;
  return {BoundaryText(series, boundary), found ? Tone::kPlain : Tone::kFaint};
}

// The first size at which the launch no longer decides.
TableCell LaunchEndCell(const Series& series, const Boundary& boundary) {
  switch (boundary.state) {
    case Boundary::State::kFound:
      return {SizeText(series, boundary.above)};
    case Boundary::State::kAlways:
      return Faint("the smallest");
    case Boundary::State::kNever:
      return Faint("none");
    default:
      return Faint("unclear");
  }
}

}  // namespace

ReportTable ClaimTable(const RoiModel& model) {
  ReportTable table{{"regime: the essay", "series", "sizes", "here (speed)", "judged"}, {}, {}};
  int last = 0;
  for (const RegimeClaim& claim : model.claims) {
    const std::string name = claim.number == last
                                 ? ""
                                 : fmt::format("{}. {}: {}", claim.number, claim.name, claim.claim);
    last = claim.number;
    if (claim.series == nullptr) {
      table.rows.push_back(
          {name, Faint("none has such a size"), Faint("-"), Faint("-"), Judged(claim.judgement)});
      continue;
    }
    table.rows.push_back({name, claim.series->series->Title(), claim.sizes, RangeText(claim),
                          Judged(claim.judgement)});
  }
  return table;
}

ReportTable BoundaryTable(const RoiModel& model) {
  const bool cpu = model.evidence.cpu();
  ReportTable table{
      {"series", "who", "launch no longer decides", "memory-bound: not behind", "compute-bound"},
      {},
      {}};
  for (const SeriesRegimes& one : model.regimes) {
    const Series& series = *one.series;
    table.rows.push_back({series.Title(), Against(one, cpu), BoundaryCell(series, one.launch_end),
                          BoundaryCell(series, one.large), BoundaryCell(series, one.compute)});
  }
  return table;
}

ReportTable LaunchEndTable(const RoiModel& model) {
  ReportTable table;
  table.header = {"series"};
  std::vector<Role> roles;
  for (const Role role : AllRoles()) {
    const bool ran =
        std::any_of(model.regimes.begin(), model.regimes.end(), [&](const SeriesRegimes& one) {
          return std::any_of(one.launch_ends.begin(), one.launch_ends.end(),
                             [&](const auto& end) { return end.first == role; });
        });
    if (!ran) continue;
    roles.push_back(role);
    table.header.push_back(RoleName(role, model.evidence.cpu()));
  }
  for (const SeriesRegimes& one : model.regimes) {
    std::vector<TableCell> row = {one.series->Title()};
    for (const Role role : roles) {
      const auto end = std::find_if(one.launch_ends.begin(), one.launch_ends.end(),
                                    [&](const auto& known) { return known.first == role; });
      row.push_back(end == one.launch_ends.end() ? Faint("-")
                                                 : LaunchEndCell(*one.series, end->second));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable FigureTable(const RoiModel& model) {
  ReportTable table{
      {"cell", "who", "essay (L4)", "here", "here / essay", "of peak", "measured as", "reproduced"},
      {false, false, true, true, true, true, false, false},
      {}};
  for (const EssayFigure& figure : model.figures) {
    const auto rate = [&](double value) {
      return figure.flops ? FormatFlops(value) : FormatBytes(value);
    };
    std::vector<TableCell> row = {figure.kernel + " " + figure.dtype + " " + figure.size,
                                  WhoName(figure.who), rate(figure.essay)};
    if (figure.row == nullptr) {
      const TableCell none = Faint("-");
      row.insert(row.end(), {Faint("not measured"), none, none, none, Faint("not measured")});
    } else {
      const auto& rates = figure.row->throughput();
      row.emplace_back(Starred(rate(figure.here), *figure.row));
      row.emplace_back(FormatFactor(figure.here / figure.essay));
      row.emplace_back(
          ShareText(figure.flops ? rates.peak_flops_ratio() : rates.peak_bandwidth_ratio()));
      row.emplace_back(figure.row->implementation());
      if (!figure.reproduced) {
        row.push_back(Faint("another card"));
      } else {
        row.push_back(
            Judged(*figure.reproduced ? Judgement::kReproduced : Judgement::kNotReproduced));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable EssayRatioTable(const RoiModel& model) {
  ReportTable table{{"kernel", "speed of", "essay (L4)", "here", "measured as", "judged"},
                    {false, false, true, true, false, false},
                    {}};
  for (const EssayRatio& ratio : model.ratios) {
    const bool measured = !ratio.own.empty();
    table.rows.push_back({ratio.kernel, ratio.what, FormatFactor(ratio.essay),
                          measured ? TableCell(RatioText(ratio.here)) : Faint("not measured"),
                          measured ? TableCell(ratio.own + " / " + ratio.other) : Faint("-"),
                          Judged(ratio.judgement)});
  }
  return table;
}

ReportTable SeriesTable(const RoiModel& model, const SeriesRegimes& regimes) {
  const bool cpu = model.evidence.cpu();
  const Series& series = *regimes.series;
  std::vector<Role> roles;
  for (const Role role : AllRoles()) {
    const bool ran = std::any_of(series.points.begin(), series.points.end(), [&](const auto& p) {
      return role != regimes.reference && p.of->Best(role) != nullptr;
    });
    if (ran) roles.push_back(role);
  }
  ReportTable table;
  table.title = series.Title();
  table.header = {series.axis, "regime", RoleName(regimes.reference, cpu)};
  table.right = {true, false, true};
  for (const Role role : roles) {
    table.header.push_back(RoleName(role, cpu));
    table.right.push_back(true);
  }
  for (std::size_t i = 0; i < regimes.sizes.size(); ++i) {
    const SizeRegime& size = regimes.sizes[i];
    const MeasuredCase& one = *series.points[i].of;
    const Result* reference = one.Best(regimes.reference);
    std::vector<TableCell> row = {ExtentText(size.extent), RegimeName(size.regime)};
    row.push_back(reference == nullptr
                      ? Faint("-")
                      : TableCell(Starred(SecondsText(reference->device_time()), *reference)));
    for (const Role role : roles) {
      const Result* own = one.Best(role);
      if (own == nullptr) {
        row.push_back(Faint("-"));
      } else if (reference == nullptr) {
        row.emplace_back(Starred(SecondsText(own->device_time()), *own));
      } else {
        row.emplace_back(Starred(RatioText(SpeedOf(*own, *reference)), *own));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace kbench::client
