#include "server/history/durations.h"

#include <algorithm>
#include <cmath>

#include "kernels/catalog/catalog.h"

namespace kbench::history {
namespace {

constexpr std::size_t kMostCells = 50'000;  // a bound on memory, beyond any lab's suites
constexpr double kNewest = 0.2;             // the least share of the newest case
constexpr double kWidth = 3;                // of the range, in mean distances
constexpr double kLeastWidth = 0.2;         // of the range, as a share of the mean
constexpr double kMostScale = 16;
constexpr Duration kUnknown{10, 1, 60, Duration::Basis::kDefault};

// 0 where the catalog does not know the case (any more).
double WorkOf(const CaseKey& key) {
  const auto problem = MakeProblem(key.kernel, key.dtype, key.shape, key.mode);
  return problem.ok() ? Work(*problem) : 0;
}

}  // namespace

void Durations::Series::Add(double seconds) {
  ++count;
  const double share = std::max(kNewest, 1.0 / count);
  if (count > 1) {
    const double distance = std::abs(seconds - mean);
    const double spread_share = std::max(kNewest, 1.0 / (count - 1));
    spread += spread_share * (distance - spread);
  }
  mean += share * (seconds - mean);
}

Duration Durations::Series::As(double factor, double width, Duration::Basis basis) const {
  const double seconds = mean * factor;
  // One case tells nothing of the spread.
  const double half =
      count < 2 ? 0.5 * seconds : std::max(kWidth * spread * factor, kLeastWidth * seconds);
  return {seconds, std::max(0.0, seconds - width * half), seconds + width * half, basis};
}

Durations::Cell Durations::CellOf(const CaseKey& key, const std::string& implementation) {
  return {key.kernel, key.dtype, key.shape, key.mode, key.device, implementation};
}

Durations::Family Durations::FamilyOf(const CaseKey& key) {
  return {key.kernel, key.dtype, key.mode, key.device};
}

const Durations::Series* Durations::Find(const Cell& cell) const {
  const auto found = cells_.find(cell);
  return found == cells_.end() ? nullptr : &found->second;
}

void Durations::Record(const CaseKey& key, double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  kernels_[key.kernel].Add(seconds);
  kernel_devices_[{key.kernel, key.device}].Add(seconds);
  if (cells_.size() + key.implementations.size() >= kMostCells) return;
  if (const double work = WorkOf(key); work > 0) sizes_[FamilyOf(key)][work].Add(seconds);
  cells_[CellOf(key, "")].Add(seconds);
  double known = 0;
  int known_count = 0;
  for (const std::string& name : key.implementations) {
    if (const Series* series = Find(CellOf(key, name))) {
      known += series->mean;
      ++known_count;
    }
  }
  const auto count = static_cast<double>(key.implementations.size());
  const double typical = known_count > 0 ? known / known_count : seconds / std::max(1.0, count);
  const double sum = known + typical * (count - known_count);
  for (const std::string& name : key.implementations) {
    const Series* series = Find(CellOf(key, name));
    const double expected = series != nullptr ? series->mean : typical;
    cells_[CellOf(key, name)].Add(seconds * expected / sum);
  }
}

bool Durations::FromCells(const CaseKey& key, Duration& duration) const {
  Duration sum{0, 0, 0, Duration::Basis::kSame};
  int known = 0;
  for (const std::string& name : key.implementations) {
    const Series* series = Find(CellOf(key, name));
    if (series == nullptr) continue;
    const Duration one = series->As(1, 1, Duration::Basis::kSame);
    sum.seconds += one.seconds;
    sum.low += one.low;
    sum.high += one.high;
    ++known;
  }
  if (known == 0) {
    const Series* whole = Find(CellOf(key, ""));
    if (whole != nullptr) duration = whole->As(1, 1, Duration::Basis::kSame);
    return whole != nullptr;
  }
  // Those never seen here are taken for as long as the others.
  const double all = static_cast<double>(key.implementations.size()) / known;
  duration = {sum.seconds * all, sum.low * all, sum.high * all, Duration::Basis::kSame};
  return true;
}

bool Durations::FromSizes(const CaseKey& key, Duration& duration) const {
  const auto family = sizes_.find(FamilyOf(key));
  if (family == sizes_.end()) return false;
  const double work = WorkOf(key);
  if (work <= 0) return false;
  const std::map<double, Series>& sizes = family->second;
  auto nearest = sizes.lower_bound(work);
  if (nearest == sizes.end()) {
    nearest = std::prev(sizes.end());
  } else if (nearest != sizes.begin()) {
    const auto below = std::prev(nearest);
    if (work / below->first < nearest->first / work) nearest = below;
  }
  const double scale = std::sqrt(std::clamp(work / nearest->first, 1 / kMostScale, kMostScale));
  duration = nearest->second.As(scale, 2, Duration::Basis::kSize);
  return true;
}

Duration Durations::Of(const CaseKey& key, double most_seconds) const {
  Duration duration = kUnknown;
  if (FromCells(key, duration)) return duration;
  if (!FromSizes(key, duration)) {
    const auto on_device = kernel_devices_.find({key.kernel, key.device});
    const auto anywhere = kernels_.find(key.kernel);
    if (on_device != kernel_devices_.end()) {
      duration = on_device->second.As(1, 2, Duration::Basis::kKernel);
    } else if (anywhere != kernels_.end()) {
      duration = anywhere->second.As(1, 3, Duration::Basis::kKernel);
    }
  }
  if (most_seconds > 0) {
    duration.seconds = std::min(duration.seconds, most_seconds);
    duration.low = std::min(duration.low, duration.seconds);
    duration.high = std::max(std::min(duration.high, most_seconds), duration.seconds);
  }
  return duration;
}

}  // namespace kbench::history
