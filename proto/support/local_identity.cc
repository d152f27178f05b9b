#include "proto/support/local_identity.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "proto/support/clock.h"

namespace kbench {
namespace {

constexpr double kAskAgainSeconds = 5;  // where nobody answered

// "TOKEN SECONDS\n", or empty.
std::string AskForLine(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return "";
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  const timeval patience{2, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::string line;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    char buffer[512];
    ssize_t n = 0;
    while (line.size() < sizeof(buffer) && (n = read(fd, buffer, sizeof(buffer))) > 0) {
      line.append(buffer, static_cast<std::size_t>(n));
    }
  }
  close(fd);
  return line;
}

}  // namespace

LocalIdentity::LocalIdentity(std::string socket_path)
    : path_(std::move(socket_path) + kIdentitySuffix) {}

std::string LocalIdentity::Token() {
  const double now = SystemClock().SteadySeconds();
  MutexLock lock(mutex_);
  if (now < ask_again_at_) return token_;
  const std::string line = AskForLine(path_);
  const std::size_t blank = line.find(' ');
  if (blank == std::string::npos || line.back() != '\n') {
    token_.clear();
    ask_again_at_ = now + kAskAgainSeconds;
    return token_;
  }
  token_ = line.substr(0, blank);
  ask_again_at_ = now + std::atof(line.c_str() + blank) / 2;
  return token_;
}

void LocalIdentity::Forget() {
  MutexLock lock(mutex_);
  ask_again_at_ = 0;
}

}  // namespace kbench
