#include "server/auth/hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>

#include "server/auth/certificates.h"

namespace kbench::server::auth {
namespace {

void AddOnce(std::vector<std::string>* hosts, const std::string& host) {
  if (!CheckHost(host).ok() || IsLoopbackHost(host)) return;
  if (std::find(hosts->begin(), hosts->end(), host) == hosts->end()) hosts->push_back(host);
}

std::string FullName(const std::string& name) {
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0 || found == nullptr) return "";
  const std::string full = found->ai_canonname == nullptr ? "" : found->ai_canonname;
  freeaddrinfo(found);
  return full;
}

std::string AddressOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET) {
    const auto* ip4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &ip4->sin_addr, text, sizeof(text));
  } else if (address->sa_family == AF_INET6) {
    const auto* ip6 = reinterpret_cast<const sockaddr_in6*>(address);
    if (!IN6_IS_ADDR_LINKLOCAL(&ip6->sin6_addr)) {
      inet_ntop(AF_INET6, &ip6->sin6_addr, text, sizeof(text));
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> OwnHosts() {
  std::vector<std::string> hosts;
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) == 0) {
    AddOnce(&hosts, name);
    AddOnce(&hosts, FullName(name));
  }
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return hosts;
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    const bool up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (up) AddOnce(&hosts, AddressOf(one->ifa_addr));
  }
  freeifaddrs(interfaces);
  return hosts;
}

const std::vector<std::string>& LoopbackHosts() {
  static const auto* hosts = new std::vector<std::string>{"localhost", "127.0.0.1", "::1"};
  return *hosts;
}

bool IsLoopbackHost(const std::string& host) {
  const auto& all = LoopbackHosts();
  return std::find(all.begin(), all.end(), host) != all.end();
}

std::string HostAndPort(const std::string& host, const std::string& port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

}  // namespace kbench::server::auth
