// The coordinator as a verb sees it: its stubs on one channel. Owned by the App (or a test);
// thread-safe, as stubs are.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "kbench/v1/account_service.grpc.pb.h"
#include "kbench/v1/admin_service.grpc.pb.h"
#include "kbench/v1/device_service.grpc.pb.h"
#include "kbench/v1/history_service.grpc.pb.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "kbench/v1/result_service.grpc.pb.h"
#include "kbench/v1/schedule_service.grpc.pb.h"
#include "proto/support/credentials.h"
#include "proto/support/rpc_status.h"

namespace kbench::client {

struct Backend {
  std::string address;
  // Whose we say our jobs are, where nobody checks who we are. Empty: the credentials or the socket
  // tell; a name beside them would be taken for somebody else's from an admin.
  std::string claimed_owner;
  std::shared_ptr<grpc::ChannelInterface> channel;
  std::unique_ptr<kbench::v1::JobService::StubInterface> jobs;
  std::unique_ptr<kbench::v1::ResultService::StubInterface> results;
  std::unique_ptr<kbench::v1::DeviceService::StubInterface> devices;
  std::unique_ptr<kbench::v1::HistoryService::StubInterface> history;
  std::unique_ptr<kbench::v1::ScheduleService::StubInterface> schedules;
  std::unique_ptr<kbench::v1::AdminService::StubInterface> admin;
  std::unique_ptr<kbench::v1::AccountService::StubInterface> accounts;
};

Backend MakeBackend(const std::string& address, std::shared_ptr<grpc::ChannelInterface> channel);

// `address` as a person gives it; empty: the coordinator that was joined
// last, else the local stack's socket; with the credentials stored for it. A Unix socket on which
// nothing listens is told at once, with the command that helps. No call is made.
absl::StatusOr<Backend> Connect(const std::string& address);
// With these credentials, whatever is stored.
absl::StatusOr<Backend> ConnectWith(const std::string& address, const Credentials& credentials);

// Turns the "nobody answers" of a call into a line that says where and what to do; every other
// status is returned unchanged.
absl::Status Explain(const absl::Status& status, const std::string& address);

// One unary call, at most 30 s.
template <typename Response>
absl::StatusOr<Response> Unary(
    const Backend& backend,
    const std::function<grpc::Status(grpc::ClientContext*, Response*)>& call) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  Response response;
  const grpc::Status status = call(&context, &response);
  if (!status.ok()) return Explain(FromGrpc(status), backend.address);
  return response;
}

}  // namespace kbench::client
