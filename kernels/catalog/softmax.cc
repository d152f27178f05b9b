// softmax: over each row of a rows x cols matrix. The flop model counts 5 per element: maximum,
// subtraction, exponential, addition, division.
#include <algorithm>
#include <cmath>

#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"

namespace kbench::catalog {
namespace {

// In fp16 a probability of a longer row than this is smaller than the smallest number there is.
constexpr std::int64_t kMostFp16Columns = std::int64_t{1} << 20;

const SizeGrammar& Grammar() {
  static const SizeGrammar grammar{
      "softmax", "4096, 128x65536 or rows=128,cols=65536", {"rows", "cols"}, {}, {1, 2}, {}, false};
  return grammar;
}

Expected<Shape, CatalogError> Parse(const std::string& text, DType dtype) {
  auto size = ParseSizeText(text, Grammar());
  if (!size.ok()) return size.error();
  const auto& extents = size->positional;
  const std::int64_t rows = extents.empty() ? size->named["rows"] : extents.front();
  const std::int64_t cols = extents.empty() ? size->named["cols"] : extents.back();
  if (dtype == DType::kFp16 && cols > kMostFp16Columns) {
    return BadSize("fp16 holds no probability of a row of " + std::to_string(cols) +
                       " columns: at most 2^20, or choose bf16 or fp32",
                   {std::to_string(rows) + "x" + std::to_string(kMostFp16Columns)});
  }
  return WithinBounds(Shape{{{"rows", rows}, {"cols", cols}}, "", false}, dtype,
                      *FindKernel("softmax"));
}

std::vector<OperandSpec> Operands(const Problem& problem) {
  const std::vector<std::int64_t> extents = {problem.shape["rows"], problem.shape["cols"]};
  return {{"x", problem.dtype, extents, false, false}, {"y", problem.dtype, extents, true, false}};
}

double Flops(const Problem& problem) {
  return 5.0 * static_cast<double>(problem.shape["rows"]) *
         static_cast<double>(problem.shape["cols"]);
}

// Largest error of an element over the largest element of its row. Two roundings to the output's
// type, because libraries keep the exponentials in it before they divide (oneDNN does); the row sum
// even by a serial accumulator (its error grows like sqrt(cols) u); an exponential good to a few
// units. In fp16 long rows sink into the subnormal numbers, 2^-24 apart, while the largest element
// of a row of inputs in [-1, 1) is about 2.3 / cols.
double Tolerance(const Problem& problem) {
  const DTypeInfo& info = Info(problem.dtype);
  const double cols = static_cast<double>(problem.shape["cols"]);
  const double subnormal = problem.dtype == DType::kFp16 ? 0x1p-25 * cols / 2.3 : 0;
  return 2.05 * info.output_roundoff + info.accumulate_roundoff * (16 + std::sqrt(cols)) +
         subnormal;
}

// Fewer rows first: the length of a row decides how it is computed.
Problem ScaledDown(const Problem& problem, double max_flops) {
  const std::int64_t rows = problem.shape["rows"], cols = problem.shape["cols"];
  const std::int64_t few_cols = std::min(cols, AsExtent(max_flops / 5));
  const std::int64_t few_rows =
      std::min(rows, AsExtent(max_flops / 5 / static_cast<double>(few_cols)));
  Problem small = problem;
  small.shape.dims = {{"rows", few_rows}, {"cols", few_cols}};
  return small;
}

}  // namespace

KernelEntry SoftmaxEntry() {
  KernelEntry entry;
  entry.name = "softmax";
  entry.summary = "Softmax over each row of a matrix.";
  entry.size_help = "N (NxN) | ROWSxCOLS | rows=,cols=; 4096, 128x65536";
  entry.dtypes = {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16};
  entry.baselines = {"cudnn", "cpu/onednn", "cpu/onednn-via-fp32", "cuda/naive", "cpu/naive"};
  entry.parse = Parse;
  entry.operands = Operands;
  entry.flops = Flops;
  entry.compulsory_bytes = OperandBytes;
  entry.tolerance = Tolerance;
  entry.scaled_down = ScaledDown;
  return entry;
}

}  // namespace kbench::catalog
