#include "server/history/change_points.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>

#include "server/history/points.h"
#include "stats/summary.h"
#include "worker/stats/trend.h"

namespace kbench::history {
namespace {

constexpr std::size_t kLeastSide = 5;
constexpr std::size_t kLeastWindow = 40;
// Values that the permutations of one window may touch. A window of a part of 5,000 results can
// reach 1 % / windows with it, and 20 changes among them take a fifth of a second.
constexpr double kWork = 1.2e6;
constexpr double kMostPermutations = 20000;
// An environment that changed this near explains the place better than the place itself does.
constexpr std::size_t kNear = 2;
constexpr double kAlmost = 0.95;

struct Place {
  std::size_t begin = 0;  // of the window that shows it
  std::size_t end = 0;
  std::size_t split = 0;  // the first behind the change
  double statistic = 0;
  std::size_t windows = 1;  // of that length, in the part
};

// Mann-Whitney's statistic at `left` of all, from the sum of the ranks there.
double Statistic(double rank_sum, std::size_t left, std::size_t all) {
  const auto n = static_cast<double>(left);
  const auto m = static_cast<double>(all - left);
  const double shift = rank_sum - n * (n + m + 1) / 2;
  return std::fabs(shift) / std::sqrt(n * m * (n + m + 1) / 12);
}

// The best split of a window, from its ranks.
std::pair<std::size_t, double> BestSplit(std::span<const double> ranks) {
  std::pair<std::size_t, double> best{0, 0};
  double sum = 0;
  for (std::size_t left = 1; left + kLeastSide <= ranks.size(); ++left) {
    sum += ranks[left - 1];
    if (left < kLeastSide) continue;
    const double statistic = Statistic(sum, left, ranks.size());
    if (statistic > best.second) best = {left, statistic};
  }
  return best;
}

class Search {
 public:
  Search(std::span<const double> logs, const ChangePointOptions& options)
      : logs_(logs), options_(options), bits_(options.seed) {}

  // The places found, ascending, with their chance.
  std::vector<std::pair<std::size_t, double>> Run() {
    std::vector<std::pair<std::size_t, std::size_t>> parts = {{0, logs_.size()}};
    std::vector<std::pair<std::size_t, double>> found;
    while (!parts.empty()) {
      const auto [begin, end] = parts.back();
      parts.pop_back();
      const auto place = Find(begin, end);
      if (!place.has_value()) continue;
      found.push_back(*place);
      parts.push_back({begin, place->first});
      parts.push_back({place->first, end});
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  Place Look(std::size_t begin, std::size_t end, std::size_t windows) const {
    const auto ranks = stats::MeanRanks(logs_.subspan(begin, end - begin));
    const auto [split, statistic] = BestSplit(ranks);
    return {begin, end, begin + split, statistic, windows};
  }

  // The clearest place that its permutations leave standing: the whole part goes first, then the
  // windows, from the clearest on.
  std::optional<std::pair<std::size_t, double>> Find(std::size_t begin, std::size_t end) {
    const std::size_t length = end - begin;
    if (length < 2 * kLeastSide) return std::nullopt;
    std::vector<Place> places = {Look(begin, end, 1)};
    for (std::size_t window = length / 2; window >= kLeastWindow; window /= 2) {
      const std::size_t step = window / 2;
      const std::size_t windows = (length - window) / step + 1;
      for (std::size_t i = 0; i < windows; ++i) {
        places.push_back(Look(begin + i * step, begin + i * step + window, windows));
      }
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.statistic > b.statistic; });
    constexpr std::size_t kMostTried = 3;
    for (std::size_t i = 0; i < std::min(places.size(), kMostTried); ++i) {
      const double chance = Chance(places[i]);
      if (chance <= options_.chance) return std::pair{places[i].split, chance};
    }
    return std::nullopt;
  }

  double Chance(const Place& place) {
    auto ranks = stats::MeanRanks(logs_.subspan(place.begin, place.end - place.begin));
    const auto permutations =
        static_cast<int>(std::min(kMostPermutations, kWork / static_cast<double>(ranks.size())));
    int reached = 0;
    for (int i = 0; i < permutations; ++i) {
      Shuffle(&ranks);
      if (BestSplit(ranks).second < place.statistic) continue;
      ++reached;
      // Too many already, however the rest comes out.
      if (reached * static_cast<double>(place.windows) > options_.chance * permutations) return 1;
    }
    return std::min(1.0, static_cast<double>(place.windows) * (reached + 1) / (permutations + 1));
  }

  // Fisher and Yates, the same in every standard library.
  void Shuffle(std::vector<double>* values) {
    for (std::size_t i = values->size(); i > 1; --i) {
      const std::size_t j = static_cast<std::size_t>(((bits_() >> 32) * i) >> 32);
      std::swap((*values)[i - 1], (*values)[j]);
    }
  }

  std::span<const double> logs_;
  ChangePointOptions options_;
  std::mt19937_64 bits_;
};

double LevelOf(std::span<const double> logs, std::size_t begin, std::size_t end) {
  return stats::Median(logs.subspan(begin, end - begin));
}

// Ranks know no sizes: behind a step, a drift draws the place towards the middle. Between two known
// levels the place is where the results lie nearest to theirs, by absolute distances.
std::size_t Dated(std::span<const double> logs, std::size_t begin, std::size_t split,
                  std::size_t end) {
  if (end - begin < 2 * kLeastSide) return split;
  const double before = LevelOf(logs, begin, split);
  const double behind = LevelOf(logs, split, end);
  double cost = 0;  // of the place, less that of the beginning
  double least = 1e300;
  std::size_t best = split;
  for (std::size_t at = begin; at + kLeastSide <= end; ++at) {
    if (at >= begin + kLeastSide && cost < least) {
      least = cost;
      best = at;
    }
    cost += std::fabs(logs[at] - before) - std::fabs(logs[at] - behind);
  }
  return best;
}

class Places {
 public:
  Places(std::span<const double> logs, std::vector<std::pair<std::size_t, double>> places)
      : logs_(logs), places_(std::move(places)) {}

  // Places that part levels which are the same for all practical purposes go, the least first.
  void Prune(double least_ratio) {
    while (!places_.empty()) {
      std::size_t least = 0;
      for (std::size_t i = 1; i < places_.size(); ++i) {
        if (std::fabs(Step(i)) < std::fabs(Step(least))) least = i;
      }
      if (std::fabs(Step(least)) >= std::log1p(least_ratio)) break;
      places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(least));
    }
  }

  void Date() {
    for (std::size_t i = 0; i < size(); ++i) At(i) = Dated(logs_, Begin(i), At(i), End(i));
  }

  std::size_t size() const { return places_.size(); }
  std::size_t& At(std::size_t i) { return places_[i].first; }
  std::size_t At(std::size_t i) const { return places_[i].first; }
  double Chance(std::size_t i) const { return places_[i].second; }
  std::size_t Begin(std::size_t i) const { return i == 0 ? 0 : At(i - 1); }
  std::size_t End(std::size_t i) const { return i + 1 < size() ? At(i + 1) : logs_.size(); }
  // ln of the level behind over the one before.
  double Step(std::size_t i) const {
    return LevelOf(logs_, At(i), End(i)) - LevelOf(logs_, Begin(i), At(i));
  }

 private:
  std::span<const double> logs_;
  std::vector<std::pair<std::size_t, double>> places_;
};

// Where an environment changed within two results, the change is dated there if it is nearly as
// clear.
std::size_t AtEpoch(const std::vector<const v1::HistoryPoint*>& points,
                    std::span<const double> logs, std::size_t begin, std::size_t split,
                    std::size_t end) {
  const auto ranks = stats::MeanRanks(logs.subspan(begin, end - begin));
  std::vector<double> sums = {0};
  for (const double rank : ranks) sums.push_back(sums.back() + rank);
  const auto statistic = [&](std::size_t at) {
    return Statistic(sums[at - begin], at - begin, end - begin);
  };
  const std::size_t first = std::max(begin + 1, split > kNear ? split - kNear : 0);
  for (std::size_t at = first; at <= std::min(end - 1, split + kNear); ++at) {
    if (points[at]->epoch() != points[at - 1]->epoch() &&
        statistic(at) >= kAlmost * statistic(split)) {
      return at;
    }
  }
  return split;
}

}  // namespace

std::vector<v1::ChangePoint> ChangePoints(std::span<const v1::HistoryPoint> points,
                                          const ChangePointOptions& options) {
  std::vector<const v1::HistoryPoint*> valid;
  std::vector<double> logs;
  for (const v1::HistoryPoint& point : points) {
    if (!IsValid(point)) continue;
    valid.push_back(&point);
    logs.push_back(std::log(point.seconds()));
  }
  Places places(logs, Search(logs, options).Run());
  places.Date();
  places.Prune(options.least_ratio);
  places.Date();  // the neighbours are others now
  std::vector<v1::ChangePoint> changes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t at = AtEpoch(valid, logs, places.Begin(i), places.At(i), places.End(i));
    places.At(i) = at;
    v1::ChangePoint change;
    *change.mutable_time() = valid[at]->time();
    change.set_result(valid[at]->result());
    change.set_ratio(std::exp(places.Step(i)));
    change.set_p_value(places.Chance(i));
    change.set_new_epoch(valid[at]->epoch() != valid[at - 1]->epoch());
    changes.push_back(std::move(change));
  }
  return changes;
}

std::span<const v1::HistoryPoint> LevelOf(std::span<const v1::HistoryPoint> points, Level level) {
  const std::vector<v1::ChangePoint> changes = ChangePoints(points);
  if (changes.empty()) return points;
  const bool first = level == Level::kFirst;
  const std::string& begins = (first ? changes.front() : changes.back()).result();
  const auto at = std::find_if(points.begin(), points.end(),
                               [&](const auto& point) { return point.result() == begins; });
  const auto index = static_cast<std::size_t>(at - points.begin());
  return first ? points.first(index) : points.subspan(index);
}

}  // namespace kbench::history
