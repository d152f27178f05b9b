// cpu/naive matmul: c[m, n] = a * b, one dot product an element.
#include <cstdint>

#include "kernels/cpu/implementations.h"
#include "kernels/cpu/naive.h"

namespace kbench {
namespace {

// How to step through an operand of either layout: element (i, j) lies at i * row + j * column.
struct Strides {
  std::int64_t row;
  std::int64_t column;
};

// How a result lies in memory.
template <typename E>
using ResultOf = decltype(E::Store(typename E::Compute{}));

template <typename E>
void Matmul(const typename E::Storage* a, Strides sa, const typename E::Storage* b, Strides sb,
            ResultOf<E>* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      typename E::Compute sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += E::Load(a[i * sa.row + l * sa.column]) * E::Load(b[l * sb.row + j * sb.column]);
      }
      c[i * n + j] = E::Store(sum);
    }
  }
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const std::int64_t m = problem.shape["m"];
  const std::int64_t n = problem.shape["n"];
  const std::int64_t k = problem.shape["k"];
  const std::string& layout = problem.shape.layout;
  const Strides sa = layout[0] == 't' ? Strides{1, m} : Strides{k, 1};
  const Strides sb = layout[1] == 't' ? Strides{1, k} : Strides{n, 1};
  const auto body = [&](auto element) -> HostBody {
    using E = decltype(element);
    const auto* a = static_cast<const typename E::Storage*>(operands.inputs[0]);
    const auto* b = static_cast<const typename E::Storage*>(operands.inputs[1]);
    auto* c = static_cast<ResultOf<E>*>(operands.output);
    return [=] { Matmul<E>(a, sa, b, sb, c, m, n, k); };
  };
  if (problem.dtype == DType::kFp8E4M3) return CreateNaive(body(Element<DType::kFp8E4M3>{}));
  if (problem.dtype == DType::kInt8) return CreateNaive(body(Element<DType::kInt8>{}));
  return CreateNaive(problem, body);
}

}  // namespace

Implementation CpuNaiveMatmul() {
  return NaiveImplementation("matmul",
                             "one dot product an element, added in order; tf32 rounds each operand",
                             {DType::kFp64, DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16,
                              DType::kFp8E4M3, DType::kInt8},
                             Create);
}

}  // namespace kbench
