#include "server/rpc/server.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "server/rpc/device_service.h"
#include "server/rpc/job_service.h"
#include "server/rpc/listen.h"
#include "server/rpc/result_service.h"
#include "server/rpc/worker_stream.h"
#include "server/store/sqlite.h"
#include "spdlog/spdlog.h"

namespace kbench::server {
namespace {

constexpr int kMostMessageBytes = 64 << 20;
// Clients that poll are gone at once; one that does not is cut off then.
constexpr int kDrainSeconds = 2;
constexpr const char* kServices[] = {"", "kbench.v1.JobService", "kbench.v1.ResultService",
                                     "kbench.v1.DeviceService", "kbench.v1.WorkerService"};

void Configure(grpc::ServerBuilder& builder) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  builder.SetMaxReceiveMessageSize(kMostMessageBytes);
  // Two coordinators must not share a port in silence.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1000);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
}

class ServerImpl final : public Server {
 public:
  ServerImpl(ServerOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock), metrics_(KBENCH_VERSION) {}
  ~ServerImpl() override { Stop(std::chrono::system_clock::now()); }

  absl::Status Start();
  void Shutdown() override;
  const std::vector<std::string>& listen() const override { return bound_; }
  const std::string& metrics_address() const override { return metrics_address_; }
  metrics::Metrics& metrics() override { return metrics_; }
  store::Store& store() override { return *store_; }

 private:
  absl::Status Listen();
  void WriteState() const;
  void Stop(std::chrono::system_clock::time_point deadline);

  ServerOptions options_;
  Clock& clock_;
  metrics::Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<JobService> jobs_;
  std::unique_ptr<ResultService> results_;
  std::unique_ptr<DeviceService> devices_;
  std::unique_ptr<WorkerService> workers_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> bound_;
  std::string metrics_address_;
};

absl::Status ServerImpl::Start() {
  if (options_.listen.empty()) options_.listen.push_back("unix:" + DefaultSocketPath());
  if (options_.data_dir.empty()) options_.data_dir = DataDir();
  if (!options_.metrics_listen.empty()) {
    KB_RETURN_IF_ERROR(CheckMetricsAddress(options_.metrics_listen));
  }
  KB_ASSIGN_OR_RETURN(store_, store::OpenSqliteStore({.data_dir = options_.data_dir,
                                                      .observe_commit = [this](double s, int) {
                                                        metrics_.CommitTook(s);
                                                      }}));
  coordinator_ = std::make_unique<Coordinator>(*store_, metrics_, clock_, options_.coordinator);
  KB_RETURN_IF_ERROR(coordinator_->Start());
  KB_RETURN_IF_ERROR(Listen());
  if (!options_.metrics_listen.empty()) {
    KB_ASSIGN_OR_RETURN(metrics_address_, metrics_.Serve(options_.metrics_listen));
  }
  WriteState();
  return absl::OkStatus();
}

absl::Status ServerImpl::Listen() {
  jobs_ = std::make_unique<JobService>(*coordinator_);
  results_ = std::make_unique<ResultService>(*store_, *coordinator_);
  devices_ = std::make_unique<DeviceService>(*coordinator_);
  workers_ = std::make_unique<WorkerService>(*coordinator_);
  grpc::ServerBuilder builder;
  Configure(builder);
  std::vector<std::string> addresses;
  std::vector<int> ports(options_.listen.size(), 0);
  for (std::size_t i = 0; i < options_.listen.size(); ++i) {
    KB_ASSIGN_OR_RETURN(std::string address, PrepareAddress(options_.listen[i]));
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &ports[i]);
    addresses.push_back(std::move(address));
  }
  builder.RegisterService(jobs_.get());
  builder.RegisterService(results_.get());
  builder.RegisterService(devices_.get());
  builder.RegisterService(workers_.get());
  server_ = builder.BuildAndStart();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (server_ == nullptr || ports[i] == 0) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       "cannot listen on " + fmt::format("{}", fmt::join(addresses, ", ")) +
                           ": is the address taken? Give another --listen",
                       {.reason = "ADDRESS_IN_USE"});
    }
    const bool is_unix = addresses[i].rfind("unix:", 0) == 0;
    const std::size_t colon = addresses[i].rfind(':');
    bound_.push_back(is_unix ? addresses[i]
                             : addresses[i].substr(0, colon + 1) + std::to_string(ports[i]));
  }
  for (const char* service : kServices) {
    server_->GetHealthCheckService()->SetServingStatus(service, true);
  }
  return absl::OkStatus();
}

// For scripts and `kbench-client up`: where this server is.
void ServerImpl::WriteState() const {
  const std::string path = options_.data_dir + "/server.json";
  std::ofstream file(path + ".new");
  file << fmt::format(R"({{"listen":["{}"],"metrics":"{}","pid":{}}})", fmt::join(bound_, "\",\""),
                      metrics_address_, getpid())
       << "\n";
  file.close();
  std::error_code error;
  std::filesystem::rename(path + ".new", path, error);
  if (error) spdlog::warn("{} cannot be written: {}", path, error.message());
}

void ServerImpl::Shutdown() {
  if (server_ == nullptr) return;
  spdlog::info("stopping");
  for (const char* service : kServices) {
    server_->GetHealthCheckService()->SetServingStatus(service, false);
  }
  std::error_code ignored;
  std::filesystem::remove(options_.data_dir + "/server.json", ignored);
  Stop(std::chrono::system_clock::now() + std::chrono::seconds(kDrainSeconds));
}

void ServerImpl::Stop(std::chrono::system_clock::time_point deadline) {
  // The HTTP server looks whether it should end every other second only.
  std::thread metrics_stop([this] { metrics_.Stop(); });
  if (coordinator_ != nullptr) coordinator_->Drain();
  if (server_ != nullptr) {
    server_->Shutdown(deadline);
    server_->Wait();
    server_.reset();
  }
  if (coordinator_ != nullptr) coordinator_->Stop();
  metrics_stop.join();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Clock& clock) {
  auto server = std::make_unique<ServerImpl>(options, clock);
  KB_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace kbench::server
