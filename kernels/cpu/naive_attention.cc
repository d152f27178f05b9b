// cpu/naive attention: o = softmax(q k^T / sqrt(d)) v for q, o of [b, h, s, d] and k, v of
// [b, hkv, s, d].
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/naive.h"

namespace kbench {
namespace {

// One query row against `keys` rows of k and v; `scores` holds at least `keys` elements, `sums` d.
template <typename E>
void AttendRow(const typename E::Storage* q, const typename E::Storage* k,
               const typename E::Storage* v, typename E::Storage* o, std::int64_t keys,
               std::int64_t d, typename E::Compute* scores, typename E::Compute* sums) {
  using Compute = typename E::Compute;
  const Compute scale = 1 / std::sqrt(static_cast<Compute>(d));
  for (std::int64_t j = 0; j < keys; ++j) {
    Compute dot = 0;
    for (std::int64_t l = 0; l < d; ++l) dot += E::Load(q[l]) * E::Load(k[j * d + l]);
    scores[j] = dot * scale;
  }
  const Compute largest = *std::max_element(scores, scores + keys);
  for (std::int64_t j = 0; j < keys; ++j) scores[j] = std::exp(scores[j] - largest);
  const Compute total =
      PairwiseSum<Compute>(0, keys, [scores](std::int64_t j) { return scores[j]; });
  std::fill(sums, sums + d, Compute{0});
  for (std::int64_t j = 0; j < keys; ++j) {
    const Compute p = E::Operand(scores[j]);
    for (std::int64_t l = 0; l < d; ++l) sums[l] += p * E::Load(v[j * d + l]);
  }
  for (std::int64_t l = 0; l < d; ++l) o[l] = E::Store(sums[l] / total);
}

struct Extents {
  std::int64_t b, h, hkv, s, d;
  bool causal;
};

template <typename E>
void Attend(const Extents& x, const typename E::Storage* q, const typename E::Storage* k,
            const typename E::Storage* v, typename E::Storage* o,
            std::vector<typename E::Compute>& scratch) {
  for (std::int64_t head = 0; head < x.b * x.h; ++head) {
    // Query heads share the key heads in groups of neighbours, within each sequence.
    const std::int64_t key_head = head / x.h * x.hkv + head % x.h / (x.h / x.hkv);
    const std::int64_t keys_at = key_head * x.s * x.d;
    for (std::int64_t row = 0; row < x.s; ++row) {
      const std::int64_t at = (head * x.s + row) * x.d;
      AttendRow<E>(q + at, k + keys_at, v + keys_at, o + at, x.causal ? row + 1 : x.s, x.d,
                   scratch.data(), scratch.data() + x.s);
    }
  }
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const Shape& shape = problem.shape;
  const std::int64_t hkv = shape["hkv"] != 0 ? shape["hkv"] : shape["h"];
  const Extents extents{shape["b"], shape["h"], hkv, shape["s"], shape["d"], shape.causal};
  return CreateNaive(
      problem,
      [&](auto element) -> HostBody {
        using E = decltype(element);
        using Storage = typename E::Storage;
        const auto* q = static_cast<const Storage*>(operands.inputs[0]);
        const auto* k = static_cast<const Storage*>(operands.inputs[1]);
        const auto* v = static_cast<const Storage*>(operands.inputs[2]);
        auto* o = static_cast<Storage*>(operands.output);
        auto scratch = std::make_shared<std::vector<typename E::Compute>>(extents.s + extents.d);
        return [=] { Attend<E>(extents, q, k, v, o, *scratch); };
      },
      4 * (extents.s + extents.d));
}

}  // namespace

Implementation CpuNaiveAttention() {
  return NaiveImplementation("attention",
                             "each query row against all its keys: scores, softmax, weighted sum",
                             {DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16}, Create);
}

}  // namespace kbench
