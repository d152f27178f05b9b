// The commands of kbench-server that do not serve: init, renew, invite, tokens. They work on files
// and need no running server; a running one sees what they change.
#pragma once

#include <string>

namespace kbench::server {

bool IsSetupCommand(const std::string& word);
// The exit code.
int RunSetupCommand(int argc, const char* const* argv);

}  // namespace kbench::server
