#include "client/output/cell_words.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "client/output/time_range.h"
#include "client/output/units.h"
#include "kernels/catalog/catalog.h"

namespace kbench::client {
namespace {

using kbench::v1::CellKey;
using kbench::v1::CellState;
using kbench::v1::RegressionState;

// "64Mi" where it is a whole number of them; small ones stay digits.
std::string CountText(std::int64_t count) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  return count >= kMi && count % kMi == 0 ? fmt::format("{}Mi", count / kMi)
                                          : fmt::format("{}", count);
}

}  // namespace

std::string RegressionWord(RegressionState state) {
  return kbench::v1::RegressionState_Name(state);
}

const std::vector<std::string>& RegressionWords() {
  static const std::vector<std::string> words = {"learning", "none", "suspected", "confirmed",
                                                 "incomparable"};
  return words;
}

RegressionState ParseRegression(const std::string& word) {
  std::string upper = word;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  RegressionState state = kbench::v1::REGRESSION_STATE_UNSPECIFIED;
  return kbench::v1::RegressionState_Parse(upper, &state)
             ? state
             : kbench::v1::REGRESSION_STATE_UNSPECIFIED;
}

std::string CellTitle(const CellKey& cell) {
  return fmt::format("{} {} {}, {}, {}, on {}", cell.kernel(), cell.dtype(), cell.shape(),
                     cell.implementation(), cell.mode(), cell.device());
}

std::string TypedSize(const CellKey& cell) {
  const auto problem = MakeProblem(cell.kernel(), cell.dtype(), cell.shape(), "");
  if (!problem.ok() || problem->shape.dims.empty()) return cell.shape();
  std::vector<std::string> extents;
  for (const auto& [name, extent] : problem->shape.dims) extents.push_back(CountText(extent));
  for (const std::string& typed : {extents.front(), fmt::format("{}", fmt::join(extents, "x"))}) {
    const auto meant = MakeProblem(cell.kernel(), cell.dtype(), typed, "");
    if (meant.ok() && meant->shape == problem->shape) return typed;
  }
  return cell.shape();
}

std::string CellName(const CellKey& cell) {
  return fmt::format("{} {} {} {} {} on {}", cell.kernel(), cell.dtype(), TypedSize(cell),
                     cell.implementation(), cell.mode(), cell.device());
}

bool HasChange(const CellState& state) {
  const bool compared = state.state() == kbench::v1::NONE ||
                        state.state() == kbench::v1::SUSPECTED ||
                        state.state() == kbench::v1::CONFIRMED;
  // All are zero right after a baseline was pinned: nothing was measured since.
  return compared && state.has_baseline() &&
         (state.change_ratio() != 0 || state.change_low() != 0 || state.change_high() != 0);
}

std::string ChangeText(const CellState& state) {
  if (!HasChange(state)) return "-";
  std::string text = SignedPercent(state.change_ratio());
  if (state.change_low() < state.change_high()) {
    text += fmt::format(" [{}, {}]", SignedPercent(state.change_low()),
                        SignedPercent(state.change_high()));
  }
  return text;
}

std::string SignedPercent(double ratio) {
  const int digits = std::fabs(ratio) >= 0.995 ? 0 : 1;
  const std::string text = fmt::format("{:+.{}f}%", 100 * ratio, digits);
  return text == "-0.0%" ? "+0.0%" : text;
}

std::string MedianText(double seconds, double low, double high) {
  if (!(seconds > 0)) return "-";
  std::string text = FormatSeconds(seconds);
  if (low > 0 && high >= low) text += " +-" + FormatPercent((high - low) / 2 / seconds);
  return text;
}

std::string RatioText(double ratio, double low, double high) {
  if (!(ratio > 0)) return "-";
  const auto bare = [](double factor) {
    const std::string text = FormatFactor(factor);
    return text.substr(0, text.size() - 1);
  };
  std::string text = FormatFactor(ratio);
  if (low > 0 && high >= low) text += fmt::format(" [{}, {}]", bare(low), bare(high));
  return text;
}

std::string AgoText(const google::protobuf::Timestamp& time, double now) {
  if (time.seconds() == 0) return "-";
  return FormatSecondsRoughly(std::max(0.0, std::round(now - StampSeconds(time)))) + " ago";
}

std::string IsoTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "";
  return google::protobuf::util::TimeUtil::ToString(time);
}

}  // namespace kbench::client
