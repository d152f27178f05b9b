// The gate before every method: who calls (authenticator.h), whether the role suffices (methods.h),
// and a line in the audit log (audit.h), before the request is even parsed.
//
// gRPC 1.51 has no place for it: server interceptors cannot reject a call, an AuthMetadataProcessor
// sees no Unix socket (it wants TLS) and cannot send error details. So each service is registered
// through a service of our own that has the same methods and runs the other's handlers after the
// check. A service registered past the gate would be open: tests call every method of the schema
// without credentials.
//
// Here too, so that no handler can forget it: the bound on a request's bytes, and what the audit
// log says of how a call ended (StatusNotes()).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_interceptor.h"
#include "proto/support/clock.h"
#include "proto/support/mutex.h"
#include "server/auth/audit.h"
#include "server/auth/authenticator.h"
#include "server/auth/caller.h"
#include "server/auth/methods.h"

namespace kbench::server::auth {

// Of a request; gRPC alone bounds what comes in a stream of them: a worker's results may be large.
inline constexpr std::size_t kMostRequestBytes = 4u << 20;

// How a call was answered: its path, status ("NOT_FOUND") and the time from its request to the
// answer (negative for a stream). On the thread that answers; must be quick.
using CallObserver =
    std::function<void(const char* method, const std::string& code, double seconds)>;

// Tells the audit log the status of every unary call that changes something, whoever made it: the
// handler, the gate or gRPC (a request that is no message), and `observe` (may be empty) that of
// every call. A server with a gate needs one.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> StatusNotes(
    CallObserver observe = {});

// Thread-safe.
class Gate {
 public:
  // All outlive it; `audit` may be null.
  Gate(Authenticator& authenticator, TokenStore& tokens, AuditLog* audit, Clock& clock);
  ~Gate();

  // `service` (which outlives what is returned) behind the gate. INTERNAL when a method is not in
  // the table of roles.
  absl::StatusOr<std::unique_ptr<grpc::Service>> Guard(const std::string& name,
                                                       grpc::Service& service);

  // Ends every stream that stands whose credential may no longer be used. Called every second.
  void EndUnusable();

 private:
  class Handler;
  class GuardedService;

  // The caller, or why the call is refused; the refusal is written down. `bytes`: of the request, 0
  // where a stream of them begins.
  absl::StatusOr<Caller> Admit(const Method& method, const grpc::ServerContextBase& context,
                               std::size_t bytes);
  void Audit(const Method& method, const Caller& caller, const std::string& peer,
             const std::string& code, const std::string& reason, const CallNotes& notes);
  std::int64_t AddStanding(const Caller& caller, grpc_call* call);
  void RemoveStanding(std::int64_t number);

  Authenticator& authenticator_;
  TokenStore& tokens_;
  AuditLog* const audit_;
  Clock& clock_;

  struct Standing {
    std::string credential_id;
    std::int64_t expire_micros = 0;
    grpc_call* call = nullptr;  // referenced
  };
  Mutex mutex_;
  std::map<std::int64_t, Standing> standing_ ABSL_GUARDED_BY(mutex_);
  std::int64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace kbench::server::auth
