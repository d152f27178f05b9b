#include "client/report/lines_of_code.h"

#include "client/implementation_name.h"

namespace kbench::client {

const ImplementationLines* LinesOf(const std::string& kernel, const std::string& implementation) {
  const std::string name = BaseOf(implementation);
  for (const ImplementationLines& one : AllImplementationLines()) {
    if (one.kernel == kernel && one.implementation == name) return &one;
  }
  return nullptr;
}

}  // namespace kbench::client
