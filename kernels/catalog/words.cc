#include "kernels/catalog/words.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace kbench::catalog {
namespace {

// Longer words are compared by their beginning only: the cost is quadratic and the text is a
// stranger's.
constexpr std::size_t kComparedLength = 64;

std::string Lower(const std::string& text) {
  std::string lower = text.substr(0, kComparedLength);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({substituted, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> Nearest(const std::string& word,
                                 const std::vector<std::string>& candidates, std::size_t most) {
  const std::string wanted = Lower(word);
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    order.emplace_back(EditDistance(wanted, Lower(candidates[i])), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < order.size() && i < most; ++i) {
    nearest.push_back(candidates[order[i].second]);
  }
  return nearest;
}

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

std::string Quote(const std::string& text) {
  constexpr std::size_t kShown = 40;
  std::string quoted = "'";
  for (char c : text.substr(0, kShown)) {
    quoted += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return quoted + (text.size() > kShown ? "...'" : "'");
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> pieces(1);
  for (char c : text) {
    if (c == separator) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

}  // namespace kbench::catalog
