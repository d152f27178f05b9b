// Who may call what: one table of every method. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "server/auth/roles.h"

namespace kbench::server::auth {

struct Method {
  const char* path;  // "/kbench.v1.JobService/SubmitJob"
  Role least;        // kNone: everybody who is identified
  bool changes;      // something: stands in the audit log
  const char* what;  // for whoever may not: "draining a device"
};

const std::vector<Method>& Methods();
// Null when the table does not have it: then nobody may call it.
const Method* FindMethod(const std::string& path);

}  // namespace kbench::server::auth
