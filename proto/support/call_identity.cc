#include "proto/support/call_identity.h"

#include <utility>

#include "proto/support/local_identity.h"

namespace kbench {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

constexpr char kHeader[] = "authorization";
constexpr char kScheme[] = "Bearer ";

void AddToken(InterceptorBatchMethods* methods, const std::string& token) {
  if (!methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
    return;
  }
  auto* metadata = methods->GetSendInitialMetadata();
  if (!token.empty() && metadata->find(kHeader) == metadata->end()) {
    metadata->insert({kHeader, kScheme + token});
  }
}

class TokenInterceptor final : public Interceptor {
 public:
  explicit TokenInterceptor(const std::string& token) : token_(token) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    AddToken(methods, token_);
    methods->Proceed();
  }

 private:
  const std::string& token_;  // the factory's, which lives as long as the channel
};

class LocalInterceptor final : public Interceptor {
 public:
  explicit LocalInterceptor(LocalIdentity& identity) : identity_(identity) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      AddToken(methods, identity_.Token());
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS) &&
        methods->GetRecvStatus()->error_code() == grpc::StatusCode::UNAUTHENTICATED) {
      identity_.Forget();
    }
    methods->Proceed();
  }

 private:
  LocalIdentity& identity_;
};

class TokenFactory final : public ClientInterceptorFactoryInterface {
 public:
  explicit TokenFactory(std::string token) : token_(std::move(token)) {}
  Interceptor* CreateClientInterceptor(ClientRpcInfo*) override {
    return new TokenInterceptor(token_);
  }

 private:
  const std::string token_;
};

class LocalFactory final : public ClientInterceptorFactoryInterface {
 public:
  explicit LocalFactory(const std::string& socket_path) : identity_(socket_path) {}
  Interceptor* CreateClientInterceptor(ClientRpcInfo*) override {
    return new LocalInterceptor(identity_);
  }

 private:
  LocalIdentity identity_;
};

}  // namespace

std::unique_ptr<ClientInterceptorFactoryInterface> MakeTokenInterceptor(const std::string& token) {
  return std::make_unique<TokenFactory>(token);
}

std::unique_ptr<ClientInterceptorFactoryInterface> MakeLocalInterceptor(
    const std::string& socket_path) {
  return std::make_unique<LocalFactory>(socket_path);
}

}  // namespace kbench
