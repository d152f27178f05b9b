// Who calls over a Unix socket that several users share. gRPC 1.51 hides SO_PEERCRED, so a socket
// of our own beside gRPC's ("kbench.sock.id") asks the kernel who has connected and answers with
// one line: a token that names that user, signed, for an hour. Signed rather than remembered: who
// asks a million times costs no memory, and a restart invalidates nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "proto/support/clock.h"

namespace kbench::server::auth {

inline constexpr double kLocalTokenSeconds = 3600;

// "kbl_UID.END.SIGNATURE". Pure; thread-safe.
std::string MakeLocalToken(const std::string& key, uid_t uid, std::int64_t now_micros);
bool LooksLikeLocalToken(const std::string& token);

struct LocalUser {
  uid_t uid = 0;
  std::int64_t expire_micros = 0;
  bool expired = false;
};
// Nothing when it was not signed with the key.
std::optional<LocalUser> CheckLocalToken(const std::string& key, const std::string& token,
                                         std::int64_t now_micros);

// The key that signs, from `path`; made there the first time.
absl::StatusOr<std::string> LoadLocalKey(const std::string& path);

// The socket and its thread. The destructor ends it and removes the socket.
class IdentitySocket {
 public:
  static absl::StatusOr<std::unique_ptr<IdentitySocket>> Listen(const std::string& path,
                                                                const std::string& key,
                                                                Clock& clock);
  ~IdentitySocket();

 private:
  IdentitySocket(std::string path, std::string key, Clock& clock, int fd, int wake);
  void Serve();

  const std::string path_;
  const std::string key_;
  Clock& clock_;
  const int fd_;
  const int wake_;  // an eventfd that ends the thread
  std::thread thread_;
};

}  // namespace kbench::server::auth
