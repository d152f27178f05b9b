// By which names and addresses this machine can be reached. Asks the resolver.
#pragma once

#include <string>
#include <vector>

namespace kbench::server::auth {

// Host name, fully qualified name, addresses of the interfaces that are up (not loopback, not
// link-local), each once.
std::vector<std::string> OwnHosts();

// localhost, 127.0.0.1, ::1.
const std::vector<std::string>& LoopbackHosts();
bool IsLoopbackHost(const std::string& host);

// "HOST:PORT", with brackets around an IPv6 address.
std::string HostAndPort(const std::string& host, const std::string& port);

}  // namespace kbench::server::auth
