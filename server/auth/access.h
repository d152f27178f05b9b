// All of the above as the server uses it: started once, looked after by a thread of its own.
// Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/support/clock.h"
#include "server/auth/audit.h"
#include "server/auth/authenticator.h"
#include "server/auth/gate.h"
#include "server/auth/options.h"
#include "server/auth/peer.h"
#include "server/auth/tokens.h"

namespace kbench::server::auth {

class Access {
 public:
  static absl::StatusOr<std::unique_ptr<Access>> Start(const AuthOptions& options,
                                                       const std::string& data_dir, Clock& clock);
  ~Access();

  Gate& gate() { return *gate_; }
  // Whether what runs without a call, a schedule, may still be done in this name.
  absl::Status CheckOwner(const std::string& owner) {
    return tokens_->CheckOwner(owner, clock_.WallMicros());
  }
  // For gRPC's socket at `path`, which stands: its mode, and the socket beside it where users share
  // it.
  absl::Status OpenSocket(const std::string& path);
  // Ends the thread and the sockets. Idempotent.
  void Stop();

 private:
  Access(const AuthOptions& options, Clock& clock) : options_(options), clock_(clock) {}
  void Watch();
  // In the log, when it has changed.
  void SayWhetherMissing();

  const AuthOptions options_;
  Clock& clock_;
  std::string local_key_;
  std::unique_ptr<TokenStore> tokens_;
  bool told_missing_ = false;  // of the starting thread, then of the watcher
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<Gate> gate_;
  std::vector<std::unique_ptr<IdentitySocket>> sockets_;

  Mutex mutex_;
  CondVar wake_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watcher_;
};

}  // namespace kbench::server::auth
