// attention: O = softmax(Q K^T / sqrt(d)) V for each of b sequences and h heads, forward only. Q
// and O are [b, h, s, d]; K and V are [b, hkv, s, d], where query head i reads head i / (h / hkv).
// Causal: row i sees the columns up to i.
#include <algorithm>
#include <cmath>

#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"

namespace kbench::catalog {
namespace {

constexpr std::int64_t kDefaultHeads = 16, kDefaultHeadSize = 64;

const SizeGrammar& Grammar() {
  static const SizeGrammar grammar{"attention",
                                   "8192, 1x16x8192x64 or b=1,h=16,s=8192,d=64[,hkv=4][,causal]",
                                   {"b", "h", "s", "d"},
                                   {"hkv"},
                                   {1, 4},
                                   {},
                                   true};
  return grammar;
}

Expected<Shape, CatalogError> Parse(const std::string& text, DType dtype) {
  auto size = ParseSizeText(text, Grammar());
  if (!size.ok()) return size.error();
  std::vector<std::int64_t> extents = size->positional;
  if (extents.size() == 1) extents = {1, kDefaultHeads, extents[0], kDefaultHeadSize};
  Shape shape;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string& dim = Grammar().dims[i];
    shape.dims.emplace_back(dim, extents.empty() ? size->named[dim] : extents[i]);
  }
  const std::int64_t heads = shape["h"];
  const auto kv = size->named.find("hkv");
  if (kv != size->named.end() && kv->second != heads) {
    if (kv->second > heads || heads % kv->second != 0) {
      // Its greatest divisor below is the nearest that works.
      std::int64_t divisor = std::min({kv->second, heads, std::int64_t{4096}});
      while (heads % divisor != 0) --divisor;
      return BadSize("hkv=" + std::to_string(kv->second) + " does not divide h=" +
                         std::to_string(heads) + ": every key head serves the same number of heads",
                     {"hkv=" + std::to_string(divisor), "hkv=" + std::to_string(heads)});
    }
    shape.dims.emplace_back("hkv", kv->second);
  }
  shape.causal = size->causal;
  return WithinBounds(std::move(shape), dtype, *FindKernel("attention"));
}

std::vector<OperandSpec> Operands(const Problem& problem) {
  const Shape& shape = problem.shape;
  const std::int64_t b = shape["b"], h = shape["h"], s = shape["s"], d = shape["d"];
  const std::int64_t kv = shape["hkv"] != 0 ? shape["hkv"] : h;
  const DType storage = StorageOf(problem.dtype);
  return {{"q", storage, {b, h, s, d}, false, false},
          {"k", storage, {b, kv, s, d}, false, false},
          {"v", storage, {b, kv, s, d}, false, false},
          {"o", storage, {b, h, s, d}, true, false}};
}

// Two products of 2 s s d each; the softmax between them is not counted, as is usual. Causal
// counts half.
double Flops(const Problem& problem) {
  const Shape& shape = problem.shape;
  const double s = static_cast<double>(shape["s"]);
  const double work = 4.0 * static_cast<double>(shape["b"]) * static_cast<double>(shape["h"]) * s *
                      s * static_cast<double>(shape["d"]);
  return shape.causal ? work / 2 : work;
}

// Largest error of an element over the largest element of its row, over all rows: some 5 standard
// deviations of an element's error in the worst row. An fp32 accumulator over s random terms errs
// by 0.3 sqrt(s) u. Half types round the probabilities and the output, 0.43 u each. TF32 rounds or
// truncates three operands.
double Tolerance(const Problem& problem) {
  const DTypeInfo& info = Info(problem.dtype);
  const double s = static_cast<double>(problem.shape["s"]);
  const bool ieee = problem.dtype == DType::kFp32;
  const double accumulate =
      info.accumulate_roundoff * (32 + 4 * std::sqrt(s) + (ieee ? 0 : s / 32));
  const double inputs = problem.dtype == DType::kTf32 ? 6 * info.product_roundoff : 0;
  return 4 * info.output_roundoff + inputs + accumulate;
}

// Fewer sequences and heads first, then shorter sequences, then smaller heads.
Problem ScaledDown(const Problem& problem, double max_flops) {
  if (Flops(problem) <= max_flops) return problem;
  Problem small = problem;
  auto& dims = small.shape.dims;
  dims.resize(4);  // one query head has one key head
  dims[0].second = dims[1].second = 1;
  const double one_head = Flops(small);
  if (one_head <= max_flops) {
    const std::int64_t heads = problem.shape["hkv"] != 0 ? 1 : problem.shape["h"];
    dims[1].second = std::min(heads, AsExtent(max_flops / one_head));
    return small;
  }
  const double s = static_cast<double>(dims[2].second);
  dims[2].second = std::min(dims[2].second, AsExtent(s * std::sqrt(max_flops / one_head)));
  const double shorter = Flops(small);
  if (shorter > max_flops) {
    const double d = static_cast<double>(dims[3].second);
    dims[3].second = AsExtent(d * max_flops / shorter);
  }
  return small;
}

}  // namespace

KernelEntry AttentionEntry() {
  KernelEntry entry;
  entry.name = "attention";
  entry.summary = "Scaled dot-product attention, forward.";
  entry.size_help = "S (b=1,h=16,d=64) | BxHxSxD | b=,h=,s=,d=[,hkv=][,causal]; 8192, 8192,causal";
  entry.dtypes = {DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16};
  entry.baselines = {
      "cudnn",      "cpu/onednn", "cpu/onednn-via-fp32", "cpu/openblas", "cpu/openblas-via-fp32",
      "cuda/naive", "cpu/naive"};
  entry.parse = Parse;
  entry.operands = Operands;
  entry.flops = Flops;
  entry.compulsory_bytes = OperandBytes;
  entry.tolerance = Tolerance;
  entry.scaled_down = ScaledDown;
  return entry;
}

}  // namespace kbench::catalog
