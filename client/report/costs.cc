#include "client/report/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace kbench::client {
namespace {

using kbench::v1::Result;

constexpr double kEssaySmallSum = 1048576;

std::optional<bool> Apart(const kbench::v1::TimeDistribution& a,
                          const kbench::v1::TimeDistribution& b) {
  if (!(a.low() > 0) || !(b.low() > 0)) return std::nullopt;
  return a.low() > b.high() || b.low() > a.high();
}

LaunchCosts CostsAt(const Series& series, const Series::Point& point) {
  LaunchCosts found{&series, point.extent, point.of->Best(Role::kHand), {}};
  if (found.reference == nullptr) found.reference = point.of->Fastest();
  for (const Role role : AllRoles()) {
    for (const Result& row : point.of->rows) {
      if (RoleOf(row.implementation()) != role || !IsUsable(row)) continue;
      LaunchCost cost{&row, {}, {}};
      if (&row != found.reference) {
        cost.end_to_end = SpeedOf(EndToEndOf(row), EndToEndOf(*found.reference));
        cost.apart = Apart(EndToEndOf(row), EndToEndOf(*found.reference));
      }
      found.costs.push_back(cost);
    }
  }
  return found;
}

// Whether the essay has a cell of this extent.
bool IsEssayExtent(const Series& series, double extent) {
  if (series.kernel == "sum") return extent == kEssaySmallSum || extent == 67108864;
  if (series.kernel == "softmax") return series.axis == "rows" && extent == 4096;
  if (series.kernel == "matmul") return extent == 4096;
  return series.kernel == "attention" && series.axis == "s" && extent == 8192;
}

std::vector<const Series::Point*> Chosen(const Series& series) {
  std::vector<const Series::Point*> chosen;
  for (const auto& point : series.points) {
    const bool is_end = &point == &series.points.front() || &point == &series.points.back();
    if (is_end || IsEssayExtent(series, point.extent)) chosen.push_back(&point);
  }
  return chosen;
}

std::vector<Price> Prices(const std::vector<Series>& series,
                          const std::function<Price(const MeasuredCase&)>& pick) {
  std::vector<Price> prices;
  std::set<const MeasuredCase*> seen;
  for (const Series& one : series) {
    for (const Series::Point* point : Chosen(one)) {
      Price price = pick(*point->of);
      if (price.dear == nullptr || price.plain == nullptr) continue;
      if (!seen.insert(point->of).second) continue;
      price.title = fmt::format("{} {} {}", one.kernel, one.dtype, SizeText(one, point->extent));
      if (!one.rest.empty()) price.title += ", " + one.rest;
      price.submit = DifferenceOf(price.dear->host_submit_time(), price.plain->host_submit_time());
      price.end_to_end = DifferenceOf(EndToEndOf(*price.dear), EndToEndOf(*price.plain));
      price.device = SpeedOf(*price.dear, *price.plain);
      prices.push_back(std::move(price));
    }
  }
  return prices;
}

}  // namespace

std::vector<LaunchCosts> LaunchCostsOf(const std::vector<Series>& series) {
  std::vector<LaunchCosts> all;
  for (const Series& one : series) {
    for (const auto& point : one.points) {
      const bool smallest = &point == &one.points.front();
      const bool essay =
          one.kernel == "sum" && one.dtype == "fp32" && point.extent == kEssaySmallSum;
      if (!smallest && !essay) continue;
      LaunchCosts costs = CostsAt(one, point);
      if (!costs.costs.empty()) all.push_back(std::move(costs));
    }
  }
  return all;
}

const LaunchCost* FloorOf(const std::vector<LaunchCosts>& costs, Role role) {
  const LaunchCost* least = nullptr;
  for (const LaunchCosts& one : costs) {
    for (const LaunchCost& cost : one.costs) {
      const double seconds = EndToEndOf(*cost.row).median();
      if (RoleOf(cost.row->implementation()) != role || !(seconds > 0)) continue;
      if (least == nullptr || seconds < EndToEndOf(*least->row).median()) least = &cost;
    }
  }
  return least;
}

std::vector<Price> LaunchPathPrices(const std::vector<Series>& series) {
  return Prices(series, [](const MeasuredCase& one) {
    Price price;
    for (const Result& row : one.rows) {
      if (FamilyOf(row.implementation()) != "triton-aot" || !IsUsable(row)) continue;
      const Result* twin = one.Named("triton" + VariantOf(row.implementation()));
      if (twin == nullptr) continue;
      price.dear = twin;
      price.plain = &row;
    }
    return price;
  });
}

std::vector<Price> GeneratorPrices(const std::vector<Series>& series) {
  return Prices(series, [](const MeasuredCase& one) {
    Price price;
    price.dear = one.Best(Role::kTritonAot);
    price.plain = one.BestOfFamily("cuda");
    return price;
  });
}

Judgement SubmitWithin(const Difference& submit) {
  if (!submit.known) return Judgement::kNotMeasured;
  if (!submit.sure()) return Judgement::kUndecided;
  if (submit.high <= kSameSubmitSeconds && submit.low >= -kSameSubmitSeconds) {
    return Judgement::kReproduced;
  }
  const bool beyond = submit.low > kSameSubmitSeconds || submit.high < -kSameSubmitSeconds;
  return beyond ? Judgement::kNotReproduced : Judgement::kUndecided;
}

}  // namespace kbench::client
