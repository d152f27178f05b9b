#include "client/report/role.h"

#include "client/implementation_name.h"

namespace kbench::client {

const std::vector<Role>& AllRoles() {
  static const std::vector<Role> roles = {Role::kHand,   Role::kLibrary,   Role::kTorch,
                                          Role::kTriton, Role::kTritonAot, Role::kOther};
  return roles;
}

Role RoleOf(const std::string& implementation) {
  const std::string family = FamilyOf(implementation);
  if (family == "cuda") return Role::kHand;
  if (family == "cpu") return VariantOf(implementation) == "/naive" ? Role::kHand : Role::kLibrary;
  if (family == "torch") return Role::kTorch;
  if (family == "triton") return Role::kTriton;
  if (family == "triton-aot") return Role::kTritonAot;
  const bool library = family == "cub" || family == "cudnn" || family.rfind("cublas", 0) == 0;
  return library ? Role::kLibrary : Role::kOther;
}

std::string RoleName(Role role, bool cpu) {
  switch (role) {
    case Role::kHand:
      return cpu ? "plain C++" : "CUDA";
    case Role::kLibrary:
      return "library";
    case Role::kTorch:
      return "torch";
    case Role::kTriton:
      return "Triton";
    case Role::kTritonAot:
      return "Triton AOT";
    case Role::kOther:
      break;
  }
  return "other";
}

std::string FamilyOf(const std::string& implementation) {
  return implementation.substr(0, implementation.find_first_of("/@"));
}

std::string VariantOf(const std::string& implementation) {
  return BaseOf(implementation).substr(FamilyOf(implementation).size());
}

}  // namespace kbench::client
