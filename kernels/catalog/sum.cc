// sum: the sum of n elements. Half types are summed into one fp32 number. The inputs are uniform in
// [0, 1): the sum of signed ones would cancel, and nearly every wrong answer with it.
#include <algorithm>
#include <cmath>

#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"

namespace kbench::catalog {
namespace {

const SizeGrammar& Grammar() {
  static const SizeGrammar grammar{"sum", "64Mi, 2^26 or n=4096", {"n"}, {}, {1}, {}, false};
  return grammar;
}

Expected<Shape, CatalogError> Parse(const std::string& text, DType dtype) {
  auto size = ParseSizeText(text, Grammar());
  if (!size.ok()) return size.error();
  const std::int64_t n = size->positional.empty() ? size->named["n"] : size->positional[0];
  return WithinBounds(Shape{{{"n", n}}, "", false}, dtype, *FindKernel("sum"));
}

std::vector<OperandSpec> Operands(const Problem& problem) {
  const DType output = problem.dtype == DType::kFp64 ? DType::kFp64 : DType::kFp32;
  return {{"x", problem.dtype, {problem.shape["n"]}, false, true}, {"y", output, {1}, true, false}};
}

// The worst-case bound of a tree, c u log2(n) with c = 4. A single fp32 accumulator that walks over
// millions of elements loses more than that and fails, as it should: beyond 2^24 it stands still.
double Tolerance(const Problem& problem) {
  const double levels = std::ceil(std::log2(static_cast<double>(problem.shape["n"])));
  return Info(problem.dtype).accumulate_roundoff * (8 + 4 * levels);
}

Problem ScaledDown(const Problem& problem, double max_flops) {
  Problem small = problem;
  small.shape.dims = {{"n", std::min(problem.shape["n"], AsExtent(max_flops))}};
  return small;
}

}  // namespace

KernelEntry SumEntry() {
  KernelEntry entry;
  entry.name = "sum";
  entry.summary = "Adds up n elements, half types into an fp32 result.";
  entry.size_help = "N | n=N; 1Mi, 2^26";
  entry.dtypes = {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16};
  entry.baselines = {
      "cub",        "cpu/onednn", "cpu/onednn-via-fp32", "cpu/openblas", "cpu/openblas-via-fp32",
      "cuda/naive", "cpu/naive"};
  entry.parse = Parse;
  entry.operands = Operands;
  entry.flops = [](const Problem& p) { return static_cast<double>(p.shape["n"]); };
  entry.compulsory_bytes = OperandBytes;
  entry.tolerance = Tolerance;
  entry.scaled_down = ScaledDown;
  return entry;
}

}  // namespace kbench::catalog
