#include "server/auth/access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/support/error.h"
#include "proto/support/local_identity.h"
#include "spdlog/spdlog.h"

namespace kbench::server::auth {
namespace {

// How long a revoked credential may still be used at most, with one reading of the file.
constexpr double kLookSeconds = 1;

}  // namespace

absl::StatusOr<std::unique_ptr<Access>> Access::Start(const AuthOptions& options,
                                                      const std::string& data_dir, Clock& clock) {
  std::unique_ptr<Access> access(new Access(options, clock));
  access->tokens_ = std::make_unique<TokenStore>(options.tokens);
  if (!options.tokens.empty()) {
    KB_RETURN_IF_ERROR(access->tokens_->Refresh());
    if (options.uses_tls()) access->SayWhetherMissing();
  }
  if (options.share_socket) {
    KB_ASSIGN_OR_RETURN(access->local_key_, LoadLocalKey(data_dir + "/local.key"));
  }
  const std::string audit = options.audit_log.empty() ? data_dir + "/audit.log" : options.audit_log;
  KB_ASSIGN_OR_RETURN(access->audit_, AuditLog::Open(audit, options.audit_bytes));
  access->authenticator_ =
      std::make_unique<Authenticator>(options, *access->tokens_, access->local_key_, geteuid());
  access->gate_ = std::make_unique<Gate>(*access->authenticator_, *access->tokens_,
                                         access->audit_.get(), clock);
  access->watcher_ = std::thread([raw = access.get()] { raw->Watch(); });
  return access;
}

Access::~Access() { Stop(); }

void Access::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    wake_.NotifyAll();
  }
  if (watcher_.joinable()) watcher_.join();
  sockets_.clear();
}

absl::Status Access::OpenSocket(const std::string& path) {
  // Who may connect is decided by the right to write to the socket, whatever the umask was.
  if (chmod(path.c_str(), options_.share_socket ? 0666 : 0600) != 0) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "the mode of " + path + " cannot be set: " + std::strerror(errno),
                     {.reason = "SOCKET_MODE"});
  }
  if (!options_.share_socket) return absl::OkStatus();
  KB_ASSIGN_OR_RETURN(auto socket,
                      IdentitySocket::Listen(path + kIdentitySuffix, local_key_, clock_));
  sockets_.push_back(std::move(socket));
  return absl::OkStatus();
}

void Access::SayWhetherMissing() {
  const bool missing = tokens_->missing();
  if (missing == told_missing_) return;
  told_missing_ = missing;
  if (missing) {
    spdlog::error(
        "{} is not there: no token and no certificate that `kbench-server invite` has made is "
        "taken; put the file back, unless nobody was invited yet",
        options_.tokens);
  } else {
    spdlog::info("{} is there: who was invited is let in", options_.tokens);
  }
}

void Access::Watch() {
  std::string complaint;
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!stop_) wake_.WaitFor(mutex_, kLookSeconds);
      if (stop_) return;
    }
    if (!options_.tokens.empty()) {
      const absl::Status read = tokens_->Refresh();
      const std::string fault = MessageOf(read);
      if (fault != complaint && !read.ok()) {
        spdlog::error("{}; going on with what was known before", fault);
      }
      complaint = fault;
      if (options_.uses_tls()) SayWhetherMissing();
    }
    gate_->EndUnusable();
  }
}

}  // namespace kbench::server::auth
