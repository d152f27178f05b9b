// The commands of kbench-server about its store: backup, restore, check. Backup and check ask the
// server that uses the data directory, and work on the files where none does.
#pragma once

#include <string>

namespace kbench::server {

bool IsStoreCommand(const std::string& word);
// The exit code: 0 done, 1 the check found something, 2 wrong usage, 5 it could not be done.
int RunStoreCommand(int argc, const char* const* argv);

}  // namespace kbench::server
