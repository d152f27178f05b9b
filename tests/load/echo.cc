// The empty call that submits are compared with: the same gRPC, set up the same way.
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "proto/support/signals.h"
#include "server/rpc/server.h"
#include "tests/load/scenarios.h"

namespace kbench::load {
namespace {

class Echo final : public kbench::v1::JobService::Service {
 public:
  grpc::Status GetJob(grpc::ServerContext*, const kbench::v1::GetJobRequest*,
                      kbench::v1::Job*) override {
    return grpc::Status::OK;
  }
};

}  // namespace

int ServeEcho(const std::string& socket) {
  BlockTerminationSignals();
  Echo echo;
  grpc::ServerBuilder builder;
  server::ConfigureServer(builder);
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&echo);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 5;
  WaitForTerminationSignal();
  server->Shutdown();
  return 0;
}

}  // namespace kbench::load
