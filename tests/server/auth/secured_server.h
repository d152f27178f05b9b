// A coordinator in this process with TLS on loopback and a private or shared Unix socket, and
// credentials for it. For tests; one thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "proto/support/channel.h"
#include "proto/support/error.h"
#include "proto/support/rpc_status.h"
#include "server/auth/setup.h"
#include "server/rpc/server.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server {

class SecuredServer {
 public:
  explicit SecuredServer(const auth::AuthOptions& access = {}) : access_(access) {
    EXPECT_TRUE(auth::Initialize(dir_ / "config", {{"localhost"}, "127.0.0.1:7600", false}).ok());
    const auth::SetupPaths paths{dir_ / "config"};
    access_.tls_certificate = paths.server();
    access_.tls_client_ca = paths.ca_certificate();
    access_.tokens = paths.tokens();
    Start();
  }

  void Start() {
    server_.reset();
    ServerOptions options;
    options.listen = {"127.0.0.1:0", "unix:" + socket_path()};
    options.metrics_listen = "";
    options.data_dir = dir_ / "data";
    options.access = access_;
    options.coordinator.timer_seconds = 0.02;
    auto server = Server::Start(options, SystemClock());
    if (!server.ok()) {
      ADD_FAILURE() << server.status();
      std::abort();
    }
    server_ = std::move(*server);
  }

  std::string config_dir() const { return dir_ / "config"; }
  std::string data_dir() const { return dir_ / "data"; }
  std::string socket_path() const { return dir_ / "run/kbench.sock"; }
  // "localhost:PORT"
  std::string tls_address() const {
    const std::string bound = server_->listen().front();
    return "localhost" + bound.substr(bound.rfind(':'));
  }

  auth::Invited Invite(const auth::InviteOptions& options) {
    auto all = options;
    all.addresses = {tls_address()};
    const auto invited = auth::Invite(config_dir(), all);
    EXPECT_TRUE(invited.ok()) << invited.status();
    return *invited;
  }
  Credentials CredentialsOf(const auth::Invited& invited) {
    return ParseJoinLine(invited.line)->credentials;
  }
  std::shared_ptr<grpc::Channel> ChannelOf(const auth::Invited& invited) {
    return MakeChannel(tls_address(), CredentialsOf(invited));
  }
  // TLS, but nobody in particular.
  std::shared_ptr<grpc::Channel> NobodysChannel() {
    Credentials nobody = CredentialsOf(Invite({.owner = "nobody"}));
    nobody.token.clear();
    return MakeChannel(tls_address(), nobody);
  }

 private:
  TempDir dir_;
  auth::AuthOptions access_;
  std::unique_ptr<Server> server_;
};

// A call of any method with these bytes as its request; streams are half-closed at once, and left
// at the first answer.
inline absl::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& path, const std::string& request = "") {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  auto call = stub.PrepareCall(&context, path, &queue);
  const auto wait = [&](intptr_t tag) {
    void* got = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&got, &ok));
    EXPECT_EQ(got, reinterpret_cast<void*>(tag));
    return ok;
  };
  const auto tag = [](intptr_t number) { return reinterpret_cast<void*>(number); };
  call->StartCall(tag(1));
  wait(1);
  const grpc::Slice bytes(request);
  call->WriteLast(grpc::ByteBuffer(&bytes, 1), grpc::WriteOptions(), tag(2));
  wait(2);
  grpc::ByteBuffer reply;
  call->Read(&reply, tag(3));
  const bool answered = wait(3);
  if (answered) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, tag(4));
  wait(4);
  queue.Shutdown();
  return answered ? absl::OkStatus() : FromGrpc(status);
}

}  // namespace kbench::server
