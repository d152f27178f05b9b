#include "client/report/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "kernels/catalog/catalog.h"

namespace kbench::client {
namespace {

constexpr char kSquare[] = "m=n=k";

using Words = std::vector<std::pair<std::string, std::string>>;  // {"m","4096"}, {"causal",""}

Words WordsOf(const std::string& shape) {
  Words words;
  std::size_t begin = 0;
  while (begin <= shape.size()) {
    const std::size_t end = std::min(shape.find(',', begin), shape.size());
    const std::string word = shape.substr(begin, end - begin);
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      words.emplace_back(word, "");
    } else {
      words.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    begin = end + 1;
  }
  return words;
}

// 0 where it is no number.
double Number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

// What a kernel is swept by, as a rule.
const std::vector<std::string>& AxesOf(const std::string& kernel) {
  static const std::map<std::string, std::vector<std::string>> axes = {
      {"null", {"n"}},
      {"copy", {"n"}},
      {"sum", {"n"}},
      {"softmax", {"rows", "cols"}},
      {"matmul", {"m", "n", "k"}},
      {"attention", {"s", "b", "h"}},
      {"chain", {"n", "depth"}},
  };
  static const std::vector<std::string> others = {"n"};
  const auto found = axes.find(kernel);
  return found == axes.end() ? others : found->second;
}

// Extents that say nothing where they are as always.
bool IsUsual(const std::string& kernel, const std::string& name, const std::string& value) {
  return kernel == "matmul" && name == "layout" && value == "nn";
}

struct Placed {
  std::string axis;
  std::string rest;
  double extent = 0;
};

std::vector<Placed> PlacesOf(const MeasuredCase& one) {
  const Words words = WordsOf(one.shape);
  const auto without = [&](const std::set<std::string>& names) {
    std::string rest;
    for (const auto& [name, value] : words) {
      if (names.count(name) > 0 || IsUsual(one.kernel, name, value)) continue;
      rest += (rest.empty() ? "" : ",") + name + (value.empty() ? "" : "=" + value);
    }
    return rest;
  };
  std::map<std::string, double> extents;
  for (const auto& [name, value] : words) extents[name] = Number(value);
  if (one.kernel == "matmul" && extents["m"] == extents["n"] && extents["n"] == extents["k"]) {
    return {{kSquare, without({"m", "n", "k"}), extents["m"]}};
  }
  std::vector<Placed> places;
  for (const std::string& axis : AxesOf(one.kernel)) {
    if (extents[axis] > 0) places.push_back({axis, without({axis}), extents[axis]});
  }
  if (places.empty()) places.push_back({"size", one.shape, 1});
  return places;
}

int RankOf(const std::string& kernel) {
  const auto& catalog = Catalog();
  const auto place = std::find_if(catalog.begin(), catalog.end(),
                                  [&](const KernelEntry& entry) { return entry.name == kernel; });
  return static_cast<int>(place - catalog.begin());
}

}  // namespace

std::string Series::Title() const {
  std::string title = kernel + " " + dtype;
  if (!rest.empty()) title += ", " + rest;
  return points.size() > 1 ? title + ", by " + axis : title;
}

std::vector<Series> SeriesOf(const Evidence& evidence) {
  std::vector<Series> all;
  std::vector<std::vector<std::size_t>> of_case(evidence.cases.size());
  for (std::size_t c = 0; c < evidence.cases.size(); ++c) {
    const MeasuredCase& one = evidence.cases[c];
    for (const Placed& placed : PlacesOf(one)) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const Series& series) {
        return series.kernel == one.kernel && series.dtype == one.dtype &&
               series.axis == placed.axis && series.rest == placed.rest;
      });
      of_case[c].push_back(static_cast<std::size_t>(known - all.begin()));
      if (known == all.end()) all.push_back({one.kernel, one.dtype, placed.axis, placed.rest, {}});
      all[of_case[c].back()].points.push_back({placed.extent, &one});
    }
  }
  // One case makes no sweep where another axis has it in one.
  std::vector<bool> kept(all.size(), false);
  for (const std::vector<std::size_t>& places : of_case) {
    const bool swept = std::any_of(places.begin(), places.end(),
                                   [&](std::size_t s) { return all[s].points.size() > 1; });
    for (const std::size_t s : places) {
      if (swept ? all[s].points.size() > 1 : s == places.front()) kept[s] = true;
    }
  }
  std::vector<Series> series;
  for (std::size_t s = 0; s < all.size(); ++s) {
    if (!kept[s]) continue;
    std::sort(all[s].points.begin(), all[s].points.end(),
              [](const auto& a, const auto& b) { return a.extent < b.extent; });
    series.push_back(std::move(all[s]));
  }
  std::stable_sort(series.begin(), series.end(), [](const Series& a, const Series& b) {
    return RankOf(a.kernel) < RankOf(b.kernel);
  });
  return series;
}

std::string ExtentText(double extent) {
  const std::pair<double, const char*> units[] = {
      {1073741824.0, "Gi"}, {1048576.0, "Mi"}, {1024.0, "Ki"}};
  for (const auto& [unit, name] : units) {
    // 4096 reads better than 4Ki.
    if (extent >= 16 * 1024 && std::fmod(extent, unit) == 0) {
      return fmt::format("{:.0f}{}", extent / unit, name);
    }
  }
  return fmt::format("{:.0f}", extent);
}

std::string SizeText(const Series& series, double extent) {
  if (series.axis == kSquare) return ExtentText(extent);
  if (series.axis == "size") return series.rest;
  return series.axis + "=" + ExtentText(extent);
}

}  // namespace kbench::client
