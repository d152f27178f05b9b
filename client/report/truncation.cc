#include "client/report/truncation.h"

#include <fmt/format.h>

#include <map>

#include "client/output/units.h"

namespace kbench::client {
namespace {

std::string ListOf(const std::vector<Truncation>& rows, Inputs inputs) {
  std::string text;
  for (const Truncation& row : rows) {
    if (row.inputs != inputs) continue;
    text += (text.empty() ? "" : ", ") + row.implementation + " " + FormatError(row.relative_error);
  }
  return text;
}

}  // namespace

Inputs InputsOf(double relative_error) {
  if (!(relative_error > 0)) return Inputs::kUnknown;
  if (relative_error < kTf32Roundoff) return Inputs::kRounded;
  return relative_error <= kMostOfTruncation ? Inputs::kTruncated : Inputs::kWorse;
}

std::vector<Truncation> TruncationsOf(const Evidence& evidence) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<double, Truncation>> largest;  // by implementation, with its work
  for (const MeasuredCase& one : evidence.cases) {
    if (one.kernel != "matmul" || one.dtype != "tf32") continue;
    for (const auto& row : one.rows) {
      const double error = row.verification().relative_error();
      const bool counts = IsUsable(row) && row.verification().verified() && error > 0;
      if (!counts) continue;
      auto& [work, known] = largest[row.implementation()];
      if (known.implementation.empty()) order.push_back(row.implementation());
      if (!known.implementation.empty() && row.throughput().flops() < work) continue;
      work = row.throughput().flops();
      known = {one.shape, row.implementation(), error, InputsOf(error)};
    }
  }
  std::vector<Truncation> rows;
  for (const std::string& name : order) rows.push_back(largest[name].second);
  return rows;
}

std::string TruncationSentence(const std::vector<Truncation>& rows) {
  if (rows.empty()) return "";
  const std::string truncated = ListOf(rows, Inputs::kTruncated);
  const std::string rounded = ListOf(rows, Inputs::kRounded);
  const std::string worse = ListOf(rows, Inputs::kWorse);
  std::string text;
  if (!truncated.empty()) {
    text = fmt::format("The error shows that inputs were truncated to tf32, not rounded: {}.",
                       truncated);
  }
  if (!rounded.empty()) {
    text += fmt::format("{}Rounded inputs: {}.", text.empty() ? "" : " ", rounded);
  }
  if (!worse.empty()) {
    text += fmt::format("{}More than truncation explains: {}.", text.empty() ? "" : " ", worse);
  }
  return text;
}

}  // namespace kbench::client
