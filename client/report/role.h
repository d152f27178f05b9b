// What an implementation stands for in the comparison of abstractions. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kbench::client {

enum class Role {
  kHand,     // written by hand: cuda/*, on a CPU cpu/naive
  kLibrary,  // cub, cublas*, cudnn; on a CPU cpu/onednn, cpu/openblas
  kTorch,
  kTriton,
  kTritonAot,
  kOther,
};

// All of them, in the order of every table and legend.
const std::vector<Role>& AllRoles();
Role RoleOf(const std::string& implementation);
// "CUDA", "library", "torch", "Triton", "Triton AOT", "other". On a CPU kHand is "plain C++".
std::string RoleName(Role role, bool cpu);

// "torch" of "torch/flash@torch211".
std::string FamilyOf(const std::string& implementation);
// "/flash" of "torch/flash@torch211"; empty for a family's plain one.
std::string VariantOf(const std::string& implementation);

}  // namespace kbench::client
