// The parts of an implementation's name: "torch/flash@torch211" is the variant flash of the family
// torch in the environment torch211. Pure; thread-safe.
#pragma once

#include <string>

namespace kbench::client {

// "torch/flash" of "torch/flash@torch211".
std::string BaseOf(const std::string& name);
// "torch211" of "torch/flash@torch211"; empty where none is said.
std::string EnvironmentOf(const std::string& name);
// "torch" of "torch/flash@torch211".
std::string FamilyOf(const std::string& name);
// "/flash" of "torch/flash@torch211"; empty for a family's plain one.
std::string VariantOf(const std::string& name);
// Whether `asked`, without an environment, is the name of the implementation or of its family.
bool IsOrHas(const std::string& asked, const std::string& implementation);

}  // namespace kbench::client
