#include "client/report/regimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/output/units.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

// The first of the roles that ran anywhere in the series, but not `besides`.
Role FirstRole(const Series& series, const std::vector<Role>& order, Role besides) {
  for (const Role role : order) {
    if (role == besides) continue;
    for (const auto& point : series.points) {
      if (point.of->Best(role) != nullptr) return role;
    }
  }
  return Role::kOther;
}

Regime Named(const std::string& name) {
  if (name == "launch-bound") return Regime::kLaunch;
  if (name == "memory-bound") return Regime::kMemory;
  if (name == "compute-bound") return Regime::kCompute;
  return Regime::kUnknown;
}

std::string WhyLaunchBound(const Result& row) {
  if (Named(row.regime()) == Regime::kLaunch && !row.regime_reason().empty()) {
    return row.implementation() + ": " + row.regime_reason();
  }
  return fmt::format("{}: a call takes {}, the device works for {} of it", row.implementation(),
                     FormatSeconds(EndToEndOf(row).median()),
                     FormatSeconds(row.device_time().median()));
}

// Of the fastest row whose launch does not hide it.
void DecideByFastest(const MeasuredCase& one, SizeRegime* size) {
  const Result* decides = nullptr;
  for (const Result& row : one.rows) {
    const Regime regime = Named(row.regime());
    if (!IsUsable(row) || (regime != Regime::kMemory && regime != Regime::kCompute)) continue;
    const bool faster =
        decides == nullptr || row.device_time().median() < decides->device_time().median();
    if (faster) decides = &row;
  }
  if (decides == nullptr) return;
  size->regime = Named(decides->regime());
  size->why = decides->implementation() + ": " + decides->regime_reason();
}

SizeRegime AtSize(const Series::Point& point, Role subject, Role reference) {
  const MeasuredCase& one = *point.of;
  SizeRegime size;
  size.extent = point.extent;
  size.subject = one.Best(subject);
  size.reference = one.Best(reference);
  if (size.subject != nullptr && size.reference != nullptr) {
    size.speed = SpeedOf(*size.subject, *size.reference);
    size.end_to_end = SpeedOf(EndToEndOf(*size.subject), EndToEndOf(*size.reference));
  }
  const Result* asked = size.subject != nullptr ? size.subject : size.reference;
  if (asked != nullptr && IsLaunchBound(*asked)) {
    size.regime = Regime::kLaunch;
    size.why = WhyLaunchBound(*asked);
  } else {
    DecideByFastest(one, &size);
  }
  return size;
}

// From `marks`, ascending by extent: where false turns into true for good. `unsure` sizes are
// neither.
struct Mark {
  double extent = 0;
  enum class Is { kNo, kYes, kUnsure } is = Is::kUnsure;
};

Boundary BoundaryOf(const std::vector<Mark>& marks) {
  Boundary boundary;
  if (marks.empty()) return boundary;
  std::size_t begin = marks.size();  // the first size from which on all are
  while (begin > 0 && marks[begin - 1].is == Mark::Is::kYes) --begin;
  const bool none_before = std::all_of(marks.begin(), marks.begin() + static_cast<long>(begin),
                                       [](const Mark& mark) { return mark.is == Mark::Is::kNo; });
  if (!none_before) {
    boundary.state = Boundary::State::kUnclear;
  } else if (begin == marks.size()) {
    boundary.state = Boundary::State::kNever;
    boundary.below = marks.back().extent;
  } else if (begin == 0) {
    boundary.state = Boundary::State::kAlways;
    boundary.above = marks.front().extent;
  } else {
    boundary.state = Boundary::State::kFound;
    boundary.below = marks[begin - 1].extent;
    boundary.above = marks[begin].extent;
  }
  return boundary;
}

Mark::Is Yes(bool yes) { return yes ? Mark::Is::kYes : Mark::Is::kNo; }

Boundary LaunchEnd(const Series& series, Role role) {
  std::vector<Mark> marks;
  for (const auto& point : series.points) {
    const Result* row = point.of->Best(role);
    if (row != nullptr) marks.push_back({point.extent, Yes(!IsLaunchBound(*row))});
  }
  return BoundaryOf(marks);
}

void FindBoundaries(SeriesRegimes* regimes) {
  std::vector<Mark> launch;
  std::vector<Mark> compute;
  std::vector<Mark> large;
  for (const SizeRegime& size : regimes->sizes) {
    if (size.regime == Regime::kUnknown) continue;
    launch.push_back({size.extent, Yes(size.regime != Regime::kLaunch)});
    compute.push_back({size.extent, Yes(size.regime == Regime::kCompute)});
    if (size.regime != Regime::kMemory || !size.speed.known()) continue;
    const Side side = SideOf(size.speed);
    const bool surely_not_behind = size.speed.sure() && size.speed.low >= 1 / (1 + kTieMargin);
    large.push_back({size.extent, side == Side::kBehind ? Mark::Is::kNo
                                  : surely_not_behind   ? Mark::Is::kYes
                                                        : Mark::Is::kUnsure});
  }
  regimes->launch_end = BoundaryOf(launch);
  regimes->compute = BoundaryOf(compute);
  regimes->large = BoundaryOf(large);
}

}  // namespace

std::string RegimeName(Regime regime) {
  switch (regime) {
    case Regime::kLaunch:
      return "launch-bound";
    case Regime::kMemory:
      return "memory-bound";
    case Regime::kCompute:
      return "compute-bound";
    case Regime::kUnknown:
      break;
  }
  return "not told";
}

Side SideOf(double speed) {
  if (!(speed > 0)) return Side::kUnknown;
  if (speed < 1 / (1 + kTieMargin)) return Side::kBehind;
  return speed > 1 + kTieMargin ? Side::kAhead : Side::kTie;
}

Side SideOf(const Ratio& speed) {
  if (!speed.sure()) return Side::kUnknown;
  const Side low = SideOf(speed.low);
  return low == SideOf(speed.high) ? low : Side::kUnknown;
}

std::string SideName(Side side) {
  switch (side) {
    case Side::kBehind:
      return "behind";
    case Side::kTie:
      return "tie";
    case Side::kAhead:
      return "ahead";
    case Side::kUnknown:
      break;
  }
  return "undecided";
}

bool IsLaunchBound(const Result& row) {
  if (Named(row.regime()) == Regime::kLaunch) return true;
  const auto call = EndToEndOf(row);
  const double least = call.low() > 0 ? call.low() : call.median();
  return least > kLaunchFactor * row.device_time().median();
}

std::vector<SeriesRegimes> RegimesOf(const std::vector<Series>& series) {
  std::vector<SeriesRegimes> all;
  for (const Series& one : series) {
    SeriesRegimes regimes;
    regimes.series = &one;
    regimes.subject = FirstRole(
        one, {Role::kTriton, Role::kTritonAot, Role::kTorch, Role::kLibrary}, Role::kOther);
    regimes.reference =
        FirstRole(one, {Role::kHand, Role::kLibrary, Role::kTorch}, regimes.subject);
    for (const auto& point : one.points) {
      regimes.sizes.push_back(AtSize(point, regimes.subject, regimes.reference));
    }
    FindBoundaries(&regimes);
    for (const Role role : AllRoles()) {
      const Boundary end = LaunchEnd(one, role);
      if (end.state != Boundary::State::kNoData) regimes.launch_ends.emplace_back(role, end);
    }
    all.push_back(std::move(regimes));
  }
  return all;
}

std::string BoundaryText(const Series& series, const Boundary& boundary) {
  switch (boundary.state) {
    case Boundary::State::kFound:
      return fmt::format("between {} and {}", SizeText(series, boundary.below),
                         SizeText(series, boundary.above));
    case Boundary::State::kAlways:
      return fmt::format("from the smallest size, {}, on", SizeText(series, boundary.above));
    case Boundary::State::kNever:
      return fmt::format("not up to {}", SizeText(series, boundary.below));
    case Boundary::State::kUnclear:
      return "the data hold no single one";
    case Boundary::State::kNoData:
      break;
  }
  return "no data";
}

}  // namespace kbench::client
