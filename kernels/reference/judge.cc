// What all references share: bounds, samples and the verdict.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/random.h"

namespace kbench::reference {
namespace {

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

bool UsesProducts(const Problem& problem) {
  return problem.kernel == "matmul" || problem.kernel == "attention";
}

// An fp32 result that is only as good as TF32 products make it.
bool LooksLikeTf32(const Problem& problem, double error) {
  if (problem.dtype != DType::kFp32 || !UsesProducts(problem)) return false;
  Problem tf32 = problem;
  tf32.dtype = DType::kTf32;
  return error <= FindKernel(problem.kernel)->tolerance(tf32);
}

}  // namespace

KernelReference::KernelReference(const Problem& problem, std::uint64_t seed)
    : problem_(problem),
      seed_(seed),
      operands_(FindKernel(problem.kernel)->operands(problem)),
      tolerance_(FindKernel(problem.kernel)->tolerance(problem)) {}

CheckResult KernelReference::Judge(const std::string& method, const Errors& errors) const {
  CheckResult result;
  result.tolerance = tolerance_;
  result.method = method;
  result.relative_error = std::isfinite(errors.relative) ? errors.relative : 1e300;
  const double scale = std::max(errors.reference_norm, errors.expected_norm);
  const double slack = std::max(errors.norm_slack, tolerance_) * scale;
  const std::string found = "relative error " + Number(result.relative_error) + ", at most " +
                            Number(tolerance_) + " is right for " + problem_.kernel + " in " +
                            Info(problem_.dtype).name;
  const std::string where = errors.where.empty() ? "" : "; worst at " + errors.where;
  if (!(std::abs(errors.output_norm - errors.reference_norm) <= slack)) {
    result.reason = "NORM";
    result.message = "the output's norm is " + Number(errors.output_norm) + " where it should be " +
                     Number(errors.reference_norm);
  } else if (errors.relative <= tolerance_) {
    result.passed = true;
  } else if (LooksLikeTf32(problem_, result.relative_error)) {
    result.reason = "MATH_MODE_MISMATCH";
    result.message = found + ": this is the error of TF32 products; ask for tf32 to measure those";
  } else {
    result.reason = "TOLERANCE";
    result.message = found + where;
  }
  return result;
}

CheckResult KernelReference::NotFinite(const std::string& method, std::int64_t index) const {
  CheckResult result;
  result.tolerance = tolerance_;
  result.method = method;
  result.reason = "NOT_FINITE";
  result.message = "the output holds NaN or infinities, the first at element " +
                   std::to_string(index) + " of " + std::to_string(output_spec().elements());
  return result;
}

std::vector<std::int64_t> SampleIndices(std::int64_t count, std::int64_t most, std::uint64_t seed,
                                        std::uint32_t stream) {
  std::vector<std::int64_t> indices;
  if (count <= most) {
    for (std::int64_t i = 0; i < count; ++i) indices.push_back(i);
    return indices;
  }
  // One from each of `most` equal strata: spread out, different and ascending by construction.
  for (std::int64_t i = 0; i < most; ++i) {
    const auto edge = [&](std::int64_t k) {
      return count / most * k + count % most * k / most;  // count * k may overflow
    };
    const std::uint64_t width = static_cast<std::uint64_t>(edge(i + 1) - edge(i));
    const PhiloxBlock block = BlockAt(seed, stream, static_cast<std::uint64_t>(i));
    const std::uint64_t random = static_cast<std::uint64_t>(block.word[1]) << 32 | block.word[0];
    indices.push_back(edge(i) + static_cast<std::int64_t>(random % width));
  }
  if (most >= 2) indices.front() = 0;
  if (most >= 2) indices.back() = count - 1;
  return indices;
}

}  // namespace kbench::reference
