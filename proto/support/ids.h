// Names that are hard to confuse and short to type. Thread-safe.
#pragma once

#include <string>

namespace kbench {

// Lower-case Crockford base 32 (no i, l, o, u), from the kernel's random source.
std::string RandomId(int length);
// RFC 4122 version 4.
std::string RandomUuid();

// "jobs/k3f9x2ab" from "k3f9x2ab" or "jobs/k3f9x2ab".
std::string JobName(const std::string& id_or_name);
// "k3f9x2ab" from either.
std::string JobId(const std::string& id_or_name);

}  // namespace kbench
