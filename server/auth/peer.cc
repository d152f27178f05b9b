#include "server/auth/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "fmt/format.h"
#include "proto/support/base64url.h"
#include "proto/support/error.h"
#include "proto/support/private_file.h"
#include "server/auth/crypto.h"

namespace kbench::server::auth {
namespace {

constexpr char kPrefix[] = "kbl_";
constexpr std::size_t kKeyBytes = 32;

absl::Status CannotListen(const std::string& path) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "cannot listen on " + path + ": " + std::strerror(errno),
                   {.reason = "ADDRESS_IN_USE"});
}

template <typename Number>
bool ParseWhole(std::string_view text, Number* number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && rest == text.data() + text.size();
}

}  // namespace

std::string MakeLocalToken(const std::string& key, uid_t uid, std::int64_t now_micros) {
  const auto end = now_micros / 1'000'000 + static_cast<std::int64_t>(kLocalTokenSeconds);
  const std::string text = fmt::format("{}.{}", uid, end);
  return kPrefix + text + "." + HmacSha256Hex(key, text);
}

bool LooksLikeLocalToken(const std::string& token) { return token.rfind(kPrefix, 0) == 0; }

std::optional<LocalUser> CheckLocalToken(const std::string& key, const std::string& token,
                                         std::int64_t now_micros) {
  const std::size_t last = token.rfind('.');
  if (!LooksLikeLocalToken(token) || last == std::string::npos) return std::nullopt;
  const std::size_t start = sizeof(kPrefix) - 1;
  if (last < start) return std::nullopt;
  const std::string text = token.substr(start, last - start);
  if (!SameSecret(HmacSha256Hex(key, text), token.substr(last + 1))) return std::nullopt;
  const std::size_t dot = text.find('.');
  LocalUser user;
  std::int64_t end = 0;
  if (dot == std::string::npos || !ParseWhole(std::string_view(text).substr(0, dot), &user.uid) ||
      !ParseWhole(std::string_view(text).substr(dot + 1), &end)) {
    return std::nullopt;
  }
  user.expire_micros = end * 1'000'000;
  user.expired = user.expire_micros <= now_micros;
  return user;
}

absl::StatusOr<std::string> LoadLocalKey(const std::string& path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto key = FromBase64Url(text);
    if (key.has_value() && key->size() == kKeyBytes) return *key;
    KB_RETURN_IF_ERROR(WritePrivateFile(path, ToBase64Url(RandomBytes(kKeyBytes))));
  }
  return MakeError(absl::StatusCode::kFailedPrecondition, path + " cannot be read",
                   {.reason = "LOCAL_KEY"});
}

IdentitySocket::IdentitySocket(std::string path, std::string key, Clock& clock, int fd, int wake)
    : path_(std::move(path)),
      key_(std::move(key)),
      clock_(clock),
      fd_(fd),
      wake_(wake),
      thread_([this] { Serve(); }) {}

absl::StatusOr<std::unique_ptr<IdentitySocket>> IdentitySocket::Listen(const std::string& path,
                                                                       const std::string& key,
                                                                       Clock& clock) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  errno = ENAMETOOLONG;
  if (path.size() >= sizeof(address.sun_path)) return CannotListen(path);
  std::memcpy(address.sun_path, path.data(), path.size());
  unlink(path.c_str());  // of a server before us: gRPC's socket is ours, so this is too
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (fd < 0 || wake < 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), 0666) != 0 || listen(fd, 128) != 0) {
    absl::Status status = CannotListen(path);
    if (fd >= 0) close(fd);
    if (wake >= 0) close(wake);
    return status;
  }
  return std::unique_ptr<IdentitySocket>(new IdentitySocket(path, key, clock, fd, wake));
}

IdentitySocket::~IdentitySocket() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = write(wake_, &one, sizeof(one));
  thread_.join();
  close(fd_);
  close(wake_);
  unlink(path_.c_str());
}

void IdentitySocket::Serve() {
  while (true) {
    pollfd entries[] = {{fd_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(entries, 2, -1) < 0 && errno != EINTR) return;
    if (entries[1].revents != 0) return;
    const int connection = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
      // Out of descriptors: wait rather than spin.
      if (errno == EMFILE || errno == ENFILE) poll(&entries[1], 1, 100);
      continue;
    }
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
      const std::string line = fmt::format(
          "{} {:.0f}\n", MakeLocalToken(key_, peer.uid, clock_.WallMicros()), kLocalTokenSeconds);
      // Fits into the socket's buffer: nobody can make us wait.
      [[maybe_unused]] const ssize_t ignored =
          send(connection, line.data(), line.size(), MSG_NOSIGNAL);
    }
    close(connection);
  }
}

}  // namespace kbench::server::auth
