// chain: `depth` elementwise operations on n elements, one after the other (chain_steps.h), as
// frameworks run them eagerly: what a launch each costs, and what a graph or fusion gains. The flop
// model counts one operation an element and step. Compulsory are one read and one write, whatever
// the depth; one launch a step moves `depth` times as much, which is the point.
#include <algorithm>
#include <cmath>

#include "kernels/catalog/chain_steps.h"
#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"

namespace kbench::catalog {
namespace {

constexpr std::int64_t kDefaultDepth = 30;  // the essay's thirty small operations

const SizeGrammar& Grammar() {
  static const SizeGrammar grammar{
      "chain", "1Mi, 1Mi,depth=8 or n=1Mi,depth=8", {"n"}, {"depth"}, {1}, {}, false};
  return grammar;
}

Expected<Shape, CatalogError> Parse(const std::string& text, DType dtype) {
  auto size = ParseSizeText(text, Grammar());
  if (!size.ok()) return size.error();
  const std::int64_t n = size->positional.empty() ? size->named["n"] : size->positional[0];
  const auto given = size->named.find("depth");
  const std::int64_t depth = given == size->named.end() ? kDefaultDepth : given->second;
  if (depth > kMostChainDepth) {
    const std::string most = std::to_string(kMostChainDepth);
    return BadSize("depth=" + std::to_string(depth) + " is too deep: at most " + most,
                   {"depth=" + most});
  }
  return WithinBounds(Shape{{{"n", n}, {"depth", depth}}, "", false}, dtype, *FindKernel("chain"));
}

std::vector<OperandSpec> Operands(const Problem& problem) {
  const std::int64_t n = problem.shape["n"];
  return {{"x", problem.dtype, {n}, false, false}, {"y", problem.dtype, {n}, true, false}};
}

double Flops(const Problem& problem) {
  return static_cast<double>(problem.shape["n"]) * static_cast<double>(problem.shape["depth"]);
}

// Root mean square of the error over that of the output. Launched one by one, every step rounds to
// the storage type, 0.4 u each and independently, and the steps carry an error on at about its
// size: 0.35 sqrt(depth) u, measured at 2 u for 30 steps and 2.5 u for 64. Kept in fp32 until
// the end it is 0.4 u. To leave out the step that shows least is an error of 10 u even in bf16 at
// depth 64.
double Tolerance(const Problem& problem) {
  const double depth = static_cast<double>(problem.shape["depth"]);
  return Info(problem.dtype).output_roundoff * (1 + 0.45 * std::sqrt(depth));
}

// Fewer elements first, then fewer steps.
Problem ScaledDown(const Problem& problem, double max_flops) {
  const std::int64_t depth = std::min(problem.shape["depth"], AsExtent(max_flops));
  const std::int64_t n =
      std::min(problem.shape["n"], AsExtent(max_flops / static_cast<double>(depth)));
  Problem small = problem;
  small.shape.dims = {{"n", n}, {"depth", depth}};
  return small;
}

}  // namespace

KernelEntry ChainEntry() {
  KernelEntry entry;
  entry.name = "chain";
  entry.summary = "A chain of elementwise operations: what launching each of them costs.";
  entry.size_help = "N (depth=30) | n=[,depth=1..64]; 1Mi, 64Ki,depth=8";
  entry.dtypes = {DType::kFp32, DType::kFp16, DType::kBf16};
  entry.baselines = {"cuda/launches", "cuda/graph", "cuda/fused", "cpu/naive"};
  entry.parse = Parse;
  entry.operands = Operands;
  entry.flops = Flops;
  entry.compulsory_bytes = OperandBytes;
  entry.tolerance = Tolerance;
  entry.scaled_down = ScaledDown;
  return entry;
}

}  // namespace kbench::catalog
