// `kbench-worker join LINE`: keeps the coordinator's address and this worker's credentials.
#pragma once

#include <string>
#include <vector>

namespace kbench {

// `words`: what follows "join". The exit code.
int RunJoin(const std::vector<std::string>& words);

}  // namespace kbench
