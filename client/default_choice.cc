#include "client/default_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace kbench::client {
namespace {

using kbench::v1::ImplementationInfo;
using kbench::v1::KernelInfo;

bool Takes(const ImplementationInfo& one, const std::string& dtype) {
  return std::find(one.dtypes().begin(), one.dtypes().end(), dtype) != one.dtypes().end();
}

std::string FamilyOf(const ImplementationInfo& one) {
  if (!one.family().empty()) return one.family();
  return one.name().substr(0, one.name().find_first_of("/@"));
}

bool IsDefault(const KernelInfo& kernel, const ImplementationInfo& one, const std::string& dtype) {
  bool any = false;
  for (const ImplementationInfo& other : kernel.implementations()) {
    if (other.hidden() || !other.default_choice() || !Takes(other, dtype)) continue;
    any = true;
    const bool above = FamilyOf(other) == FamilyOf(one) && other.rung() > one.rung() &&
                       other.environment() == one.environment();
    if (above) return false;
  }
  return one.default_choice() || !any;
}

}  // namespace

std::vector<std::string> DefaultDTypes(const KernelInfo& kernel, const ImplementationInfo& one) {
  std::vector<std::string> dtypes;
  for (const std::string& dtype : one.dtypes()) {
    if (IsDefault(kernel, one, dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

std::string DefaultText(const KernelInfo& kernel, const ImplementationInfo& one) {
  const std::vector<std::string> dtypes = DefaultDTypes(kernel, one);
  if (dtypes.empty()) return "no";
  if (static_cast<int>(dtypes.size()) == one.dtypes_size()) return "yes";
  return fmt::format("{}", fmt::join(dtypes, " "));
}

}  // namespace kbench::client
