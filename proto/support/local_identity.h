// Who we are on a Unix socket that several users share. gRPC hides SO_PEERCRED, so the coordinator
// has a second socket beside the first ("kbench.sock.id"): it asks the kernel who has connected and
// answers with one line, a token for that user that holds for an hour. Thread-safe.
#pragma once

#include <string>

#include "proto/support/mutex.h"

namespace kbench {

inline constexpr char kIdentitySuffix[] = ".id";

class LocalIdentity {
 public:
  // `socket_path`: of the coordinator's gRPC socket.
  explicit LocalIdentity(std::string socket_path);

  // The token to show; empty where nobody hands out any (a socket of one's own needs none). Asks
  // again when half its time is over, or after Forget().
  std::string Token();
  // The coordinator did not take it: another one runs there now.
  void Forget();

 private:
  const std::string path_;
  Mutex mutex_;
  std::string token_ ABSL_GUARDED_BY(mutex_);
  double ask_again_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kbench
