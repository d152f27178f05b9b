#include "server/rpc/listen.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench::server {
namespace {

absl::Status Refuse(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message, {.reason = reason});
}

absl::Status Wrong(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kInvalidArgument, message, {.reason = reason});
}

absl::Status NotLoopback(const std::string& address) {
  return Wrong(address +
                   " is not a loopback address; kbench listens beyond loopback only with TLS (make "
                   "it with: kbench-server init), or with --insecure",
               "NOT_LOOPBACK");
}

// Whether somebody accepts connections on the socket.
bool IsLive(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool live = result == 0 || errno == EAGAIN || errno == EINPROGRESS;
  close(fd);
  return live;
}

// Others must be able to go through the folder. One that is there already is its owner's affair.
absl::Status ShareFolder(const std::string& dir, bool was_there) {
  struct stat info = {};
  if (!was_there && chmod(dir.c_str(), 0755) != 0) {
    return Refuse("the mode of " + dir + " cannot be set: " + std::strerror(errno), "SOCKET_MODE");
  }
  if (stat(dir.c_str(), &info) == 0 && (info.st_mode & 0011) != 0) return absl::OkStatus();
  return Refuse("--share-socket: other users cannot go through the folder " + dir +
                    "; give it mode 0755, or put the socket elsewhere with --listen unix:PATH",
                "SOCKET_MODE");
}

absl::Status PrepareSocket(const std::string& path, bool shared) {
  const std::string dir = std::filesystem::absolute(path).parent_path().string();
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(dir, ignored);
  KB_RETURN_IF_ERROR(EnsureWritableDir(dir));
  if (shared) KB_RETURN_IF_ERROR(ShareFolder(dir, was_there));
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return Refuse(path + " is there already and is no socket; remove it, or give another --listen",
                  "ADDRESS_IN_USE");
  }
  if (IsLive(path)) {
    return Refuse("another server listens on " + path + "; stop it, or give another --listen",
                  "ADDRESS_IN_USE");
  }
  if (unlink(path.c_str()) != 0) {
    return Refuse("the stale socket " + path + " cannot be removed: " + std::strerror(errno),
                  "ADDRESS_IN_USE");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PrepareAddress(const std::string& address,
                                           const auth::AuthOptions& access) {
  KB_ASSIGN_OR_RETURN(std::string normalized, NormalizeAddress(address));
  if (!IsLoopback(normalized) && !access.uses_tls() && !access.insecure) {
    return NotLoopback(address);
  }
  if (normalized.rfind("unix:", 0) == 0) {
    KB_RETURN_IF_ERROR(PrepareSocket(normalized.substr(5), access.share_socket));
  }
  return normalized;
}

absl::Status CheckMetricsAddress(const std::string& address) {
  KB_ASSIGN_OR_RETURN(const std::string normalized, NormalizeAddress(address));
  if (normalized.rfind("unix:", 0) == 0) {
    return Wrong("metrics are served over HTTP on HOST:PORT, not on " + normalized,
                 "METRICS_ADDRESS");
  }
  if (IsLoopback(normalized)) return absl::OkStatus();
  return Wrong(address +
                   " is not a loopback address; metrics and page are plain HTTP for everybody, so "
                   "they stay on this machine: put a proxy with TLS before them",
               "NOT_LOOPBACK");
}

}  // namespace kbench::server
