#include "server/auth/caller.h"

#include <utility>

#include "proto/support/error.h"

namespace kbench::server::auth {
namespace {

thread_local const Caller* current_caller = nullptr;
thread_local CallScope* current_scope = nullptr;

}  // namespace

absl::StatusOr<std::string> Caller::OwnerOf(const std::string& claimed) const {
  if (!says_owner || claimed.empty()) return owner.empty() ? "anonymous" : owner;
  const absl::Status named = CheckOwner(claimed);
  if (named.ok()) return claimed;
  ErrorDetails details = DetailsOf(named);
  details.violations = {{"owner", MessageOf(named)}};
  return MakeError(named.code(), MessageOf(named), details);
}

absl::Status Caller::CheckMayChange(const std::string& job_owner, const std::string& what) const {
  // Whom nobody can tell from others may have said to be the owner when submitting.
  const bool unverified = !verified && role != Role::kNone;
  if (is_admin() || unverified || (verified && owner == job_owner)) return absl::OkStatus();
  return MakeError(absl::StatusCode::kPermissionDenied,
                   "you are " + owner + " and cannot " + what + ", which belongs to " + job_owner +
                       "; ask them, or an admin",
                   {.reason = "NOT_YOURS", .metadata = {{"owner", job_owner}}});
}

const Caller& CurrentCaller() {
  static const Caller nobody;
  return current_caller == nullptr ? nobody : *current_caller;
}

CallScope::CallScope(const Caller& caller)
    : outer_caller_(current_caller), outer_scope_(current_scope) {
  current_caller = &caller;
  current_scope = this;
}

CallScope::CallScope(std::shared_ptr<PendingCall> call)
    : pending_(std::move(call)), outer_caller_(current_caller), outer_scope_(current_scope) {
  current_caller = &pending_->caller;
  current_scope = this;
}

CallScope::~CallScope() {
  current_caller = outer_caller_;
  current_scope = outer_scope_;
}

std::shared_ptr<PendingCall> CurrentCall() {
  if (current_scope != nullptr && current_scope->pending_ != nullptr) {
    return current_scope->pending_;
  }
  return std::make_shared<PendingCall>(PendingCall{CurrentCaller(), {}});
}

void NoteJob(const std::string& job) {
  if (current_scope != nullptr) current_scope->mutable_notes().job = job;
}

void NoteSubject(const std::string& subject) {
  if (current_scope != nullptr) current_scope->mutable_notes().subject = subject;
}

void NoteDevice(const std::string& device) {
  if (current_scope != nullptr) current_scope->mutable_notes().device = device;
}

void NoteStatus(absl::Status status) {
  if (current_scope != nullptr) current_scope->mutable_notes().status = std::move(status);
}

}  // namespace kbench::server::auth
