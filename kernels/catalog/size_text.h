// The grammar all sizes share: extents by position ("4096", "4096x4096x1024") or by name
// ("m=1,n=2,k=3"), followed by options ("layout=tn", "causal"). Each entry says which names it
// knows. Private to the catalog. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/catalog/catalog.h"

namespace kbench::catalog {

inline constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostOperandBytes = std::int64_t{1} << 50;

struct SizeGrammar {
  std::string kernel;
  std::string examples;                         // "4096, 4096x4096x1024 or m=1,n=2,k=3"
  std::vector<std::string> dims;                // names that must be given when names are used
  std::vector<std::string> optional_dims;       // names that may be given
  std::vector<std::size_t> positional_lengths;  // how many extents "AxBxC" may have
  std::vector<std::string> layouts;             // values of layout=, empty: no such option
  bool causal = false;                          // whether the flag exists
};

// What stood in the text. Either `positional` or the required names are present.
struct SizeText {
  std::vector<std::int64_t> positional;
  std::map<std::string, std::int64_t> named;
  std::string layout;
  bool causal = false;
};

CatalogError BadSize(const std::string& message, std::vector<std::string> nearest = {});

Expected<SizeText, CatalogError> ParseSizeText(const std::string& text, const SizeGrammar& grammar);

// The shape, or why its operands are too large. To be called last by every parse().
Expected<Shape, CatalogError> WithinBounds(Shape shape, DType dtype, const KernelEntry& entry);

}  // namespace kbench::catalog
