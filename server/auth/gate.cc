#include "server/auth/gate.h"

#include <google/protobuf/descriptor.h>
#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>

#include <chrono>
#include <string>
#include <typeinfo>
#include <utility>

#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/method_handler.h"
#include "proto/support/error.h"
#include "proto/support/rpc_status.h"

namespace kbench::server::auth {
namespace {

using grpc::ByteBuffer;
using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;

// Ends a call of the callback API with a status, whatever its kind.
class Refusal final : public grpc::ServerBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

void RefuseCallback(const MethodHandler::HandlerParameter& call, const grpc::Status& status) {
  grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer> handler(
      [&status](grpc::CallbackServerContext*) { return new Refusal(status); });
  handler.RunHandler(
      {call.call, call.server_context, nullptr, grpc::Status::OK, nullptr, call.call_requester});
}

void RefuseSync(const MethodHandler::HandlerParameter& call, const grpc::Status& status) {
  ByteBuffer nothing;
  grpc::Status answer = status;
  grpc::internal::UnaryRunHandlerHelper(call, &nothing, answer);
}

RpcMethod::RpcType TypeOf(const google::protobuf::MethodDescriptor& method) {
  if (method.client_streaming()) {
    return method.server_streaming() ? RpcMethod::BIDI_STREAMING : RpcMethod::CLIENT_STREAMING;
  }
  return method.server_streaming() ? RpcMethod::SERVER_STREAMING : RpcMethod::NORMAL_RPC;
}

absl::Status CheckBytes(std::size_t bytes) {
  if (bytes <= kMostRequestBytes) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "the request has " + std::to_string(bytes) + " bytes, at most " +
                       std::to_string(kMostRequestBytes) + " are allowed",
                   {.reason = "REQUEST_TOO_LARGE"});
}

// Sees a call's status on its way out, on the thread that answers it (within its CallScope).
class StatusNote final : public grpc::experimental::Interceptor {
 public:
  // `observe` may be null.
  StatusNote(const Method& method, bool unary, const CallObserver* observe)
      : method_(method), unary_(unary), observe_(observe) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS)) {
      const absl::Status status = FromGrpc(methods->GetSendStatus());
      if (unary_ && method_.changes) NoteStatus(status);
      if (observe_ != nullptr) Observe(status);
    }
    methods->Proceed();
  }

 private:
  void Observe(const absl::Status& status) const {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
    (*observe_)(method_.path, absl::StatusCodeToString(status.code()), unary_ ? took.count() : -1);
  }

  const Method& method_;
  const bool unary_;
  const CallObserver* const observe_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

class StatusNoteFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit StatusNoteFactory(CallObserver observe) : observe_(std::move(observe)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    const Method* method = FindMethod(info->method());
    if (method == nullptr) return nullptr;  // health, reflection
    const bool unary = info->type() == grpc::experimental::ServerRpcInfo::Type::UNARY;
    if (!observe_ && !(unary && method->changes)) return nullptr;
    return new StatusNote(*method, unary, observe_ ? &observe_ : nullptr);
  }

 private:
  const CallObserver observe_;
};

// A service does not say which of its methods use the callback API; the class of the handler does.
bool IsCallback(const MethodHandler& handler) {
  return std::string(typeid(handler).name()).find("Callback") != std::string::npos;
}

}  // namespace

// In front of one handler of a service.
class Gate::Handler final : public MethodHandler {
 public:
  Handler(Gate& gate, const Method& method, RpcMethod::RpcType type, MethodHandler& inner)
      : gate_(gate),
        method_(method),
        inner_(inner),
        callback_(IsCallback(inner)),
        answers_later_(callback_ && type == RpcMethod::NORMAL_RPC) {}

  bool callback() const { return callback_; }

  // Not yet: gRPC calls this before RunHandler, and who may not call need not be parsed.
  void* Deserialize(grpc_call*, grpc_byte_buffer* request, grpc::Status*, void**) override {
    return request;
  }

  void RunHandler(const HandlerParameter& call) override {
    auto* const bytes = static_cast<grpc_byte_buffer*>(call.request);
    const absl::StatusOr<Caller> caller = gate_.Admit(
        method_, *call.server_context, bytes == nullptr ? 0 : grpc_byte_buffer_length(bytes));
    if (!caller.ok()) {
      if (bytes != nullptr) grpc_byte_buffer_destroy(bytes);
      const grpc::Status status = ToGrpc(caller.status());
      return callback_ ? RefuseCallback(call, status) : RefuseSync(call, status);
    }
    void* data = call.internal_data;
    grpc::Status status = call.status;
    void* request = nullptr;
    if (bytes != nullptr) request = inner_.Deserialize(call.call->call(), bytes, &status, &data);
    const auto run = [&](std::function<void()> done) {
      inner_.RunHandler({call.call, call.server_context, request, status, data, std::move(done)});
    };
    if (answers_later_) {
      RunPending(*caller, call, run);
    } else if (callback_) {
      RunStanding(*caller, call, run);
    } else {
      const CallScope scope(*caller);
      run(call.call_requester);
      AuditEnd(*caller, call.server_context->peer(), scope.notes());
    }
  }

 private:
  using Run = std::function<void(std::function<void()> done)>;

  void AuditEnd(const Caller& caller, const std::string& peer, const CallNotes& notes) {
    if (!method_.changes) return;
    gate_.Audit(method_, caller, peer, absl::StatusCodeToString(notes.status.code()),
                DetailsOf(notes.status).reason, notes);
  }

  // A unary call: it is written down when it has been answered, whoever did that.
  void RunPending(const Caller& caller, const HandlerParameter& call, const Run& run) {
    const auto pending = std::make_shared<PendingCall>(PendingCall{caller, {}});
    const CallScope scope(pending);
    run([this, pending, peer = call.server_context->peer(), next = call.call_requester] {
      AuditEnd(pending->caller, peer, pending->notes);
      next();
    });
  }

  // A stream: it is written down at its beginning.
  void RunStanding(const Caller& caller, const HandlerParameter& call, const Run& run) {
    const std::int64_t standing = gate_.AddStanding(caller, call.call->call());
    // The call may be over, and its context gone, as soon as its handler has returned.
    if (method_.changes) gate_.Audit(method_, caller, call.server_context->peer(), "", "", {});
    const CallScope scope(caller);
    run([&gate = gate_, standing, next = call.call_requester] {
      gate.RemoveStanding(standing);
      next();
    });
  }

  Gate& gate_;
  const Method& method_;
  MethodHandler& inner_;
  const bool callback_;
  const bool answers_later_;
};

class Gate::GuardedService final : public grpc::Service {
 public:
  GuardedService(Gate& gate, const google::protobuf::ServiceDescriptor& descriptor,
                 grpc::Service& inner) {
    for (int i = 0; i < descriptor.method_count(); ++i) {
      const google::protobuf::MethodDescriptor& method = *descriptor.method(i);
      const Method& entry = *FindMethod(PathOf(method));
      const RpcMethod::RpcType type = TypeOf(method);
      auto* handler = new Handler(gate, entry, type, HandlerOf(inner, i));
      AddMethod(new grpc::internal::RpcServiceMethod(entry.path, type, handler));
      if (handler->callback()) {
        // Marking replaces the handler, which was the first one's.
        MarkMethodCallback(i, new Handler(gate, entry, type, HandlerOf(inner, i)));
      }
    }
  }

  static std::string PathOf(const google::protobuf::MethodDescriptor& method) {
    return "/" + method.service()->full_name() + "/" + method.name();
  }

 private:
  static MethodHandler& HandlerOf(grpc::Service& service, int index) {
    // Protected, and meant for services that wrap others' handlers, as this one does.
    MethodHandler* (grpc::Service::*get)(int) = &GuardedService::GetHandler;
    return *(service.*get)(index);
  }
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> StatusNotes(
    CallObserver observe) {
  return std::make_unique<StatusNoteFactory>(std::move(observe));
}

Gate::Gate(Authenticator& authenticator, TokenStore& tokens, AuditLog* audit, Clock& clock)
    : authenticator_(authenticator), tokens_(tokens), audit_(audit), clock_(clock) {}

Gate::~Gate() {
  MutexLock lock(mutex_);
  for (const auto& [number, one] : standing_) grpc_call_unref(one.call);
}

absl::StatusOr<std::unique_ptr<grpc::Service>> Gate::Guard(const std::string& name,
                                                           grpc::Service& service) {
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
  if (descriptor == nullptr) return absl::InternalError("there is no service " + name);
  for (int i = 0; i < descriptor->method_count(); ++i) {
    const std::string path = GuardedService::PathOf(*descriptor->method(i));
    if (FindMethod(path) == nullptr) {
      return absl::InternalError(path + " has no role in server/auth/methods.cc");
    }
  }
  auto guarded = std::make_unique<GuardedService>(*this, *descriptor, service);
  if (guarded->has_callback_methods() != service.has_callback_methods()) {
    return absl::InternalError(name + ": its callback methods are not recognized");
  }
  return guarded;
}

absl::StatusOr<Caller> Gate::Admit(const Method& method, const grpc::ServerContextBase& context,
                                   std::size_t bytes) {
  absl::StatusOr<Caller> caller =
      authenticator_.Identify(PresentedBy(context), clock_.WallMicros());
  absl::Status refusal = caller.status();
  if (caller.ok() && !Includes(caller->role, method.least)) {
    const bool worker = caller->role == Role::kWorker;
    refusal =
        MakeError(absl::StatusCode::kPermissionDenied,
                  std::string(method.what) + " wants the role " + RoleName(method.least) + "; " +
                      (caller->owner.empty() ? "callers whom nobody can identify"
                                             : "you, " + caller->owner + ",") +
                      " have the role " + RoleName(caller->role) +
                      (worker ? ", which may offer a device and nothing else" : "; ask an admin"),
                  {.reason = "ROLE_TOO_LOW",
                   .metadata = {{"role", RoleName(caller->role)},
                                {"wanted", RoleName(method.least)},
                                {"method", method.path + 1}}});
  }
  if (refusal.ok()) refusal = CheckBytes(bytes);
  if (refusal.ok()) return caller;
  const ErrorDetails details = DetailsOf(refusal);
  Caller refused = caller.ok() ? *caller : Caller();
  if (!caller.ok()) {  // a credential that was once good says whose it was
    const auto text = [&](const char* key) {
      const auto found = details.metadata.find(key);
      return found == details.metadata.end() ? std::string() : found->second;
    };
    refused.owner = text("owner");
    refused.credential = text("credential");
  }
  Audit(method, refused, context.peer(), absl::StatusCodeToString(refusal.code()), details.reason,
        {});
  return refusal;
}

void Gate::Audit(const Method& method, const Caller& caller, const std::string& peer,
                 const std::string& code, const std::string& reason, const CallNotes& notes) {
  if (audit_ == nullptr) return;
  AuditEntry entry;
  entry.wall_micros = clock_.WallMicros();
  entry.method = method.path + 1;
  entry.owner = caller.owner;
  entry.role = caller.role == Role::kNone ? "" : RoleName(caller.role);
  entry.credential = caller.credential;
  entry.peer = peer;
  entry.code = code;
  entry.reason = reason;
  entry.job = notes.job;
  entry.device = notes.device;
  entry.subject = notes.subject;
  audit_->Write(entry);
}

std::int64_t Gate::AddStanding(const Caller& caller, grpc_call* call) {
  MutexLock lock(mutex_);
  const bool may_end = !caller.credential_id.empty();
  if (!may_end) return 0;
  grpc_call_ref(call);
  standing_[next_] = {caller.credential_id, caller.expire_micros, call};
  return next_++;
}

void Gate::RemoveStanding(std::int64_t number) {
  grpc_call* call = nullptr;
  {
    MutexLock lock(mutex_);
    const auto found = standing_.find(number);
    if (found == standing_.end()) return;
    call = found->second.call;
    standing_.erase(found);
  }
  grpc_call_unref(call);
}

void Gate::EndUnusable() {
  const std::int64_t now = clock_.WallMicros();
  std::vector<std::pair<grpc_call*, absl::Status>> ending;
  {
    MutexLock lock(mutex_);
    for (const auto& [number, one] : standing_) {
      absl::Status usable = tokens_.CheckUsable(one.credential_id, now);
      if (usable.ok()) continue;
      grpc_call_ref(one.call);  // its own reference may go while we are about it
      ending.emplace_back(one.call, std::move(usable));
    }
  }
  for (const auto& [call, status] : ending) {
    grpc_call_cancel_with_status(call, static_cast<grpc_status_code>(status.code()),
                                 MessageOf(status).c_str(), nullptr);
    grpc_call_unref(call);
  }
}

}  // namespace kbench::server::auth
