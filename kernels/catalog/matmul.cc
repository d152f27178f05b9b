// matmul: C = A B, row-major. Layout: the first letter is A, the second B; n is stored as written
// (A as m x k, B as k x n), t is stored transposed (A as k x m, B as n x k). C is always m x n, in
// the storage type of the inputs but for two: int8 adds up in int32 and C is int32; fp8e4m3 adds up
// in fp32 and C is bf16, which is what frameworks ask for (an E4M3 result would need a scale).
//
// Tensor cores want both operands of 8 bits to be contiguous along k: layout nt, the default of
// fp8e4m3 and int8. In the letters of BLAS, which is column-major and sees C^T = B^T A^T, the same
// storage is called "tn".
#include <algorithm>
#include <cmath>

#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"

namespace kbench::catalog {
namespace {

const SizeGrammar& Grammar() {
  static const SizeGrammar grammar{"matmul",
                                   "4096, 4096x4096x1024 or m=4096,n=4096,k=1024,layout=nn",
                                   {"m", "n", "k"},
                                   {},
                                   {1, 3},
                                   {"nn", "nt", "tn", "tt"},
                                   false};
  return grammar;
}

Expected<Shape, CatalogError> Parse(const std::string& text, DType dtype) {
  auto size = ParseSizeText(text, Grammar());
  if (!size.ok()) return size.error();
  Shape shape;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string& dim = Grammar().dims[i];
    const auto& extents = size->positional;
    shape.dims.emplace_back(dim, extents.empty()       ? size->named[dim]
                                 : extents.size() == 1 ? extents[0]
                                                       : extents[i]);
  }
  const char* const usual = Info(dtype).storage_bytes == 1 ? "nt" : "nn";
  shape.layout = size->layout.empty() ? usual : size->layout;
  return WithinBounds(std::move(shape), dtype, *FindKernel("matmul"));
}

DType StorageOfC(DType dtype) {
  if (dtype == DType::kInt8) return DType::kInt32;
  return dtype == DType::kFp8E4M3 ? DType::kBf16 : StorageOf(dtype);
}

std::vector<OperandSpec> Operands(const Problem& problem) {
  const Shape& shape = problem.shape;
  const std::int64_t m = shape["m"], n = shape["n"], k = shape["k"];
  const DType storage = StorageOf(problem.dtype);
  std::vector<std::int64_t> a = {m, k}, b = {k, n};
  if (shape.layout[0] == 't') std::swap(a[0], a[1]);
  if (shape.layout[1] == 't') std::swap(b[0], b[1]);
  return {{"a", storage, a, false, false},
          {"b", storage, b, false, false},
          {"c", StorageOfC(problem.dtype), {m, n}, true, false}};
}

// One multiplication and one addition for each of the m n k products.
double Flops(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.shape["m"]) * static_cast<double>(problem.shape["n"]) *
         static_cast<double>(problem.shape["k"]);
}

// Relative Frobenius error for inputs uniform in [-1, 1). A serial accumulator over k products errs
// by about 0.3 sqrt(k) u: 16 + sqrt(k) leaves room for any order and still catches a TF32 product
// under an fp32 label (3e-4 at any k). Tensor cores truncate while they accumulate, once every 16
// products: k/32. Rounding both inputs to TF32 costs 3e-4, truncating them, as libraries may, 8e-4.
// Rounding the output costs 0.43 u. Hopper's tensor cores keep some 14 bits of what they add up
// in fp8e4m3, and libraries move the sums to fp32 registers each 128 products: 2^-12 at any k; left
// to themselves they would lose 2^-14 each 32 products, beyond the output's roundoff from k = 4096
// on, and fp32 accumulation is what the dtype promises. int8 is exact.
double Tolerance(const Problem& problem) {
  if (problem.dtype == DType::kInt8) return 0;
  const DTypeInfo& info = Info(problem.dtype);
  const double k = static_cast<double>(problem.shape["k"]);
  const bool ieee = problem.dtype == DType::kFp64 || problem.dtype == DType::kFp32;
  const double accumulate = info.accumulate_roundoff * (16 + std::sqrt(k) + (ieee ? 0 : k / 32));
  const double inputs = problem.dtype == DType::kTf32      ? 2 * info.product_roundoff
                        : problem.dtype == DType::kFp8E4M3 ? 0x1p-12
                                                           : 0;
  return Info(StorageOfC(problem.dtype)).output_roundoff + inputs + accumulate;
}

constexpr std::int64_t kAligned = 16;

Problem ScaledDown(const Problem& problem, double max_flops) {
  if (Flops(problem) <= max_flops) return problem;
  // The smallest extent is cut first to a third of the work (in logarithm), what it leaves unused
  // goes to the others.
  Problem small = problem;
  std::vector<std::size_t> order = {0, 1, 2};
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return problem.shape.dims[i].second < problem.shape.dims[j].second;
  });
  double left = max_flops / 2;
  for (std::size_t i = 0; i < 3; ++i) {
    std::int64_t& extent = small.shape.dims[order[i]].second;
    const std::int64_t cut = AsExtent(std::pow(left, 1.0 / static_cast<double>(3 - i)));
    // Implementations that want aligned rows shall be estimated too.
    if (cut < extent) extent = cut < kAligned ? cut : cut / kAligned * kAligned;
    left /= static_cast<double>(extent);
  }
  return small;
}

}  // namespace

KernelEntry MatmulEntry() {
  KernelEntry entry;
  entry.name = "matmul";
  entry.summary = "Multiplies two matrices: C = A B.";
  entry.size_help =
      "N | MxNxK | m=,n=,k=[,layout=nn|nt|tn|tt]; nt for fp8e4m3 and int8, else nn; 4096, "
      "4096x4096x1024";
  entry.dtypes = {DType::kFp64, DType::kFp32,    DType::kTf32, DType::kFp16,
                  DType::kBf16, DType::kFp8E4M3, DType::kInt8};
  entry.baselines = {"cublas",       "cublaslt",
                     "cpu/onednn",   "cpu/onednn-via-fp32",
                     "cpu/openblas", "cpu/openblas-via-fp32",
                     "cuda/naive",   "cpu/naive"};
  entry.parse = Parse;
  entry.operands = Operands;
  entry.flops = Flops;
  entry.compulsory_bytes = OperandBytes;
  entry.tolerance = Tolerance;
  entry.scaled_down = ScaledDown;
  return entry;
}

}  // namespace kbench::catalog
