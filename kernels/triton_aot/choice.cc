#include "kernels/triton_aot/choice.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/catalog/dtype.h"

namespace kbench::aot {
namespace {

bool Is(const Variant& variant, const std::string& implementation, const std::string& kernel,
        DType dtype) {
  return variant.kernel == kernel && variant.implementation == implementation &&
         variant.dtype == std::string_view(Info(dtype).name);
}

bool Holds(const Variant& variant, const Names& names) {
  const auto value = Evaluate(variant.when, names);
  return value.ok() && *value != 0;
}

}  // namespace

Names NamesOf(const Problem& problem, int multiprocessors) {
  Names names;
  for (const auto& [name, extent] : problem.shape.dims) names[name] = extent;
  if (const auto heads = names.find("h"); heads != names.end()) {
    names.emplace("hkv", heads->second);
  }
  names["causal"] = problem.shape.causal ? 1 : 0;
  const std::string& layout = problem.shape.layout;
  names["a_transposed"] = layout.size() == 2 && layout[0] == 't' ? 1 : 0;
  names["b_transposed"] = layout.size() == 2 && layout[1] == 't' ? 1 : 0;
  names["multiprocessors"] = std::max(1, multiprocessors);
  return names;
}

int CodeFor(const Index& index, const std::string& implementation, const std::string& kernel,
            DType dtype, int capability) {
  int best = 0;
  for (const Variant& variant : index.variants) {
    if (!Is(variant, implementation, kernel, dtype)) continue;
    const bool runs = capability == 0 || (variant.capability <= capability &&
                                          variant.capability / 10 == capability / 10);
    if (runs) best = std::max(best, variant.capability);
  }
  return best;
}

std::vector<const Variant*> VariantsFor(const Index& index, const std::string& implementation,
                                        const Problem& problem, int capability,
                                        int multiprocessors) {
  const Names names = NamesOf(problem, multiprocessors);
  const int code = CodeFor(index, implementation, problem.kernel, problem.dtype, capability);
  // A candidate keeps its place among the others, whichever of its classes the problem is in.
  std::vector<std::pair<std::string_view, const Variant*>> candidates;
  for (const Variant& variant : index.variants) {
    if (variant.capability != code || !Is(variant, implementation, problem.kernel, problem.dtype)) {
      continue;
    }
    auto place = std::find_if(candidates.begin(), candidates.end(),
                              [&](const auto& each) { return each.first == variant.candidate; });
    if (place == candidates.end()) {
      place = candidates.insert(place, {variant.candidate, nullptr});
    }
    if (place->second == nullptr && Holds(variant, names)) place->second = &variant;
  }
  std::vector<const Variant*> found;
  for (const auto& [name, variant] : candidates) {
    if (variant != nullptr) found.push_back(variant);
  }
  return found;
}

}  // namespace kbench::aot
