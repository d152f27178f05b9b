#include "kernels/catalog/problem.h"

namespace kbench {

std::int64_t Shape::operator[](const std::string& name) const {
  for (const auto& [dim, extent] : dims) {
    if (dim == name) return extent;
  }
  return 0;
}

std::string Shape::Canonical() const {
  std::string text;
  for (const auto& [dim, extent] : dims) {
    text += (text.empty() ? "" : ",") + dim + "=" + std::to_string(extent);
  }
  if (!layout.empty()) text += ",layout=" + layout;
  if (causal) text += ",causal";
  return text;
}

std::int64_t OperandSpec::elements() const {
  std::int64_t product = 1;
  for (std::int64_t extent : extents) product *= extent;
  return product;
}

std::int64_t OperandSpec::bytes() const {
  return elements() * static_cast<std::int64_t>(Info(storage).storage_bytes);
}

}  // namespace kbench
