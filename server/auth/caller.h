// Who calls. The gate (gate.h) identifies the caller before a handler runs; a handler asks for it
// on the thread it was called on, before it hands work to another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/auth/roles.h"

namespace kbench::server::auth {

struct Caller {
  std::string owner = {};  // empty: unverified
  Role role = Role::kNone;
  std::string credential = {};  // for people: "token k3f9x2ab", "local user 1000"
  // The id of a token or certificate that may be revoked; empty: the credential cannot.
  std::string credential_id = {};
  std::int64_t expire_micros = 0;  // 0: does not end
  bool verified = false;           // false: plain TCP, nobody knows who it is
  // Nothing tells who it is but its own word: plain TCP, and the private socket, through which the
  // server's user and root come.
  bool says_owner = false;

  bool is_admin() const { return role == Role::kAdmin; }
  // The owner of what this caller does. `claimed` counts where only the caller can say (says_owner;
  // INVALID_ARGUMENT unless it is a name, auth/roles.h) and is ignored from everybody else, admins
  // too: who came with a token is whom the token is for, whatever their account is called at home.
  absl::StatusOr<std::string> OwnerOf(const std::string& claimed) const;
  // PERMISSION_DENIED (NOT_YOURS) unless the job of `owner` is the caller's own, or the caller is
  // an admin. `what` as in "cancel jobs/k3f9x2ab".
  absl::Status CheckMayChange(const std::string& owner, const std::string& what) const;
};

// The caller of the handler that runs on this thread. Outside of one: nobody, who may do nothing.
const Caller& CurrentCaller();

// For the audit log: which job, device or other subject the handler that runs on this thread is
// about, and how it ended.
void NoteJob(const std::string& job);
void NoteDevice(const std::string& device);
void NoteSubject(const std::string& subject);
void NoteStatus(absl::Status status);

struct CallNotes {
  std::string job = {};
  std::string device = {};
  std::string subject = {};
  absl::Status status = absl::UnknownError("nobody said how the call ended");
};

// A call that is answered after its handler has returned, from any one thread at a time. Its notes
// are read when gRPC is done with it.
struct PendingCall {
  Caller caller;
  CallNotes notes;
};

// Of the handler that runs on this thread. Outside of one that may answer later: a new one of the
// current caller, whose notes nobody reads.
std::shared_ptr<PendingCall> CurrentCall();

// Sets the caller for the time of a handler, or of an answer that comes after it; also for tests of
// handlers without a gate.
class CallScope {
 public:
  explicit CallScope(const Caller& caller);
  explicit CallScope(std::shared_ptr<PendingCall> call);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  const CallNotes& notes() const { return pending_ == nullptr ? notes_ : pending_->notes; }

 private:
  friend void NoteJob(const std::string& job);
  friend void NoteDevice(const std::string& device);
  friend void NoteSubject(const std::string& subject);
  friend void NoteStatus(absl::Status status);
  friend std::shared_ptr<PendingCall> CurrentCall();

  CallNotes& mutable_notes() { return pending_ == nullptr ? notes_ : pending_->notes; }

  const std::shared_ptr<PendingCall> pending_;
  CallNotes notes_;  // of a call that ends with its handler
  const Caller* const outer_caller_;
  CallScope* const outer_scope_;
};

}  // namespace kbench::server::auth
