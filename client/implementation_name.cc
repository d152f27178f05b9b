#include "client/implementation_name.h"

namespace kbench::client {

std::string BaseOf(const std::string& name) { return name.substr(0, name.find('@')); }

std::string EnvironmentOf(const std::string& name) {
  const std::size_t at = name.find('@');
  return at == std::string::npos ? "" : name.substr(at + 1);
}

std::string FamilyOf(const std::string& name) { return name.substr(0, name.find_first_of("/@")); }

std::string VariantOf(const std::string& name) {
  return BaseOf(name).substr(FamilyOf(name).size());
}

bool IsOrHas(const std::string& asked, const std::string& implementation) {
  const std::string base = BaseOf(implementation);
  return base == asked || base.rfind(asked + "/", 0) == 0;
}

}  // namespace kbench::client
