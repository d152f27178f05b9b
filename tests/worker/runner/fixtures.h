// Implementations that misbehave, for the tests of everything that must survive them. Linked into
// kbench-runner-fixtures only, never into a shipped program. All are fp32.
#pragma once

#include <vector>

#include "kernels/implementation.h"

namespace kbench {

// fixture/<what it does> for the kernels sum and matmul.
const std::vector<Implementation>& FixtureTable();

}  // namespace kbench
