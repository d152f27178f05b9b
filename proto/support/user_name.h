// The name of a user of this machine.
#pragma once

#include <sys/types.h>

#include <string>

namespace kbench {

// The name of the account, or "uid1234" where it has none. Thread-safe.
std::string UserName(uid_t uid);
// Whether an account of this machine has it. Thread-safe.
bool IsUserName(const std::string& name);

}  // namespace kbench
