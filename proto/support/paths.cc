#include "proto/support/paths.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "proto/support/credentials.h"
#include "proto/support/error.h"

namespace kbench {
namespace {

// sockaddr_un::sun_path holds 108 bytes with the closing zero.
constexpr std::size_t kMaxSocketPath = 107;

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Home() {
  if (std::string home = Env("HOME"); !home.empty()) return home;
  const passwd* entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_dir : "/";
}

// The XDG specification: a relative path is invalid and is ignored.
std::string AbsoluteEnv(const char* name) {
  const std::string path = Env(name);
  return !path.empty() && path[0] == '/' ? path : "";
}

std::string XdgDir(const char* variable, const char* fallback) {
  const std::string dir = AbsoluteEnv(variable);
  return (dir.empty() ? Home() + fallback : dir) + "/kbench";
}

absl::Status AddressError(const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message, {.reason = "BAD_ADDRESS"});
}

std::string HostOf(const std::string& host_port) {
  const std::size_t colon = host_port.rfind(':');
  std::string host = host_port.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

}  // namespace

std::string RuntimeDir() {
  if (const std::string dir = AbsoluteEnv("XDG_RUNTIME_DIR"); !dir.empty()) return dir + "/kbench";
  const std::string tmp = AbsoluteEnv("TMPDIR");
  return (tmp.empty() ? "/tmp" : tmp) + "/kbench-" + std::to_string(getuid());
}

std::string DefaultSocketPath() { return RuntimeDir() + "/kbench.sock"; }
std::string DataDir() { return XdgDir("XDG_STATE_HOME", "/.local/state"); }
std::string ConfigDir() { return XdgDir("XDG_CONFIG_HOME", "/.config"); }

std::string ProgramDir() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

absl::StatusOr<std::string> NormalizeAddress(const std::string& address) {
  // Not repeated: it holds a secret, and errors end in logs.
  if (address.rfind(kJoinPrefix, 0) == 0) {
    return AddressError("this is a join line, not an address; use: kbench-client join LINE");
  }
  std::string path;
  if (address.rfind("unix:", 0) == 0) {
    path = address.substr(5);
    if (path.rfind("//", 0) == 0) path = path.substr(2);  // unix:///run/x, as gRPC allows
  } else if (!address.empty() && (address[0] == '/' || address[0] == '.')) {
    path = address;
  }
  if (!path.empty()) {
    if (path.size() > kMaxSocketPath) {
      return AddressError("the socket path " + path + " has " + std::to_string(path.size()) +
                          " bytes; a Unix socket takes at most " + std::to_string(kMaxSocketPath) +
                          ": choose a shorter one");
    }
    return "unix:" + path;
  }
  const std::size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos;
  if (colon == 0 || !digits || std::stoi(port) > 65535) {
    return AddressError("'" + address +
                        "' is not an address; write unix:PATH or HOST:PORT, as in "
                        "unix:/run/kbench/kbench.sock or 127.0.0.1:7600");
  }
  return address;
}

bool IsLoopback(const std::string& normalized_address) {
  if (normalized_address.rfind("unix:", 0) == 0) return true;
  const std::string host = HostOf(normalized_address);
  if (host == "localhost" || host == "::1") return true;
  // 127.0.0.0/8 in dotted form only: a name such as 127.example.org is not loopback.
  return host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string::npos;
}

absl::Status EnsureWritableDir(const std::string& path) {
  std::error_code error;
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);  // "" is no folder
  if (!error && mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    error = std::error_code(errno, std::generic_category());
  }
  if (!error && !std::filesystem::is_directory(path)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  // Only an attempt to write tells: root ignores the mode bits, a read-only file system does not.
  if (!error) {
    std::string probe = path + "/.write-XXXXXX";
    const int fd = mkstemp(probe.data());
    if (fd < 0) {
      error = std::error_code(errno, std::generic_category());
    } else {
      close(fd);
      unlink(probe.c_str());
    }
  }
  if (!error) return absl::OkStatus();
  return MakeError(absl::StatusCode::kPermissionDenied,
                   "cannot write to the folder " + path + ": " + error.message(),
                   {.reason = "FOLDER_NOT_WRITABLE", .metadata = {{"path", path}}});
}

}  // namespace kbench
