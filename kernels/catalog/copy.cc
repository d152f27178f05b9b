// copy: n elements from one buffer to another, the floor under everything bound by memory. No
// arithmetic: its flop model is 0 and its result is exact.
#include <algorithm>

#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"

namespace kbench::catalog {
namespace {

const SizeGrammar& Grammar() {
  static const SizeGrammar grammar{"copy", "64Mi, 2^26 or n=4096", {"n"}, {}, {1}, {}, false};
  return grammar;
}

Expected<Shape, CatalogError> Parse(const std::string& text, DType dtype) {
  auto size = ParseSizeText(text, Grammar());
  if (!size.ok()) return size.error();
  const std::int64_t n = size->positional.empty() ? size->named["n"] : size->positional[0];
  return WithinBounds(Shape{{{"n", n}}, "", false}, dtype, *FindKernel("copy"));
}

std::vector<OperandSpec> Operands(const Problem& problem) {
  const std::int64_t n = problem.shape["n"];
  return {{"x", problem.dtype, {n}, false, false}, {"y", problem.dtype, {n}, true, false}};
}

// One element counts as one operation.
Problem ScaledDown(const Problem& problem, double max_flops) {
  Problem small = problem;
  small.shape.dims = {{"n", std::min(problem.shape["n"], AsExtent(max_flops))}};
  return small;
}

}  // namespace

KernelEntry CopyEntry() {
  KernelEntry entry;
  entry.name = "copy";
  entry.summary = "Copies n elements: what a kernel bound by memory can reach.";
  entry.size_help = "N | n=N; 64Mi, 2^26";
  entry.dtypes = {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt8};
  entry.baselines = {"cpu/onednn", "cpu/openblas", "cuda/naive", "cpu/naive"};
  entry.parse = Parse;
  entry.operands = Operands;
  entry.flops = [](const Problem&) { return 0.0; };
  entry.compulsory_bytes = OperandBytes;
  entry.tolerance = [](const Problem&) { return 0.0; };
  entry.scaled_down = ScaledDown;
  return entry;
}

}  // namespace kbench::catalog
