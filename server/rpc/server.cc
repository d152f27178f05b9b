#include "server/rpc/server.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

#include "fmt/format.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "server/auth/access.h"
#include "server/auth/gate.h"
#include "server/auth/tls.h"
#include "server/rpc/account_service.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/device_service.h"
#include "server/rpc/history_keeper.h"
#include "server/rpc/history_service.h"
#include "server/rpc/job_service.h"
#include "server/rpc/listen.h"
#include "server/rpc/result_service.h"
#include "server/rpc/schedule_keeper.h"
#include "server/rpc/schedule_service.h"
#include "server/rpc/worker_stream.h"
#include "server/store/sqlite.h"
#include "spdlog/spdlog.h"

namespace kbench::server {
namespace {

constexpr int kMostMessageBytes = 64 << 20;
// Clients that poll are gone at once; one that does not is cut off then.
constexpr int kDrainSeconds = 2;
// After a restart: cells whose newest result is looked at, about as many as the metrics hold; and
// results of one cell among which the newest default one is looked for.
constexpr int kMostRestored = 2100;
constexpr int kMostLooks = 20;
constexpr const char* kServices[] = {"",
                                     "kbench.v1.AdminService",
                                     "kbench.v1.JobService",
                                     "kbench.v1.ResultService",
                                     "kbench.v1.DeviceService",
                                     "kbench.v1.HistoryService",
                                     "kbench.v1.ScheduleService",
                                     "kbench.v1.WorkerService"};

void Serve(grpc::ServerBuilder& builder, metrics::RpcCalls& calls) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  ConfigureServer(builder);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> notes;
  notes.push_back(
      auth::StatusNotes([&calls](const char* method, const std::string& code, double seconds) {
        calls.Handled(method, code, seconds);
      }));
  builder.experimental().SetInterceptorCreators(std::move(notes));
}

class ServerImpl final : public Server {
 public:
  ServerImpl(ServerOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock), metrics_(KBENCH_VERSION, options_.series) {}
  ~ServerImpl() override { Stop(std::chrono::system_clock::now()); }

  absl::Status Start();
  void Shutdown() override;
  const std::vector<std::string>& listen() const override { return bound_; }
  const std::string& metrics_address() const override { return metrics_address_; }
  metrics::Metrics& metrics() override { return metrics_; }
  store::Store& store() override { return *store_; }

 private:
  absl::Status RestoreSeries();
  // Of one cell's results, newest first.
  void RestoreNewest(const std::vector<store::Measured>& found, const std::string& implementation);
  absl::Status Listen();
  absl::Status AddPorts(grpc::ServerBuilder& builder, std::vector<std::string>* addresses,
                        std::vector<int>* ports);
  absl::Status AddServices(grpc::ServerBuilder& builder);
  void WriteState() const;
  void Stop(std::chrono::system_clock::time_point deadline);

  ServerOptions options_;
  Clock& clock_;
  metrics::Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<StoreKeeper> keeper_;
  std::unique_ptr<ScheduleKeeper> schedules_;
  std::unique_ptr<HistoryKeeper> history_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<auth::Access> access_;
  AccountService accounts_;
  std::unique_ptr<JobService> jobs_;
  std::unique_ptr<ResultService> results_;
  std::unique_ptr<DeviceService> devices_;
  std::unique_ptr<ScheduleService> scheduled_;
  std::unique_ptr<HistoryService> told_;
  std::unique_ptr<WorkerService> workers_;
  std::vector<std::unique_ptr<grpc::Service>> guarded_;  // each in front of one of the above
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
                                                      .vfs = options_.store_vfs,
                                                      .log_bytes = options_.log_bytes,
                                                      .observe_commit = [this](double s, int) {
                                                        metrics_.CommitTook(s);
                                                      }}));
  KB_ASSIGN_OR_RETURN(access_, auth::Access::Start(options_.access, options_.data_dir, clock_));
  coordinator_ = std::make_unique<Coordinator>(*store_, metrics_, clock_, options_.coordinator);
  KB_RETURN_IF_ERROR(coordinator_->Start());
  keeper_ = std::make_unique<StoreKeeper>(
      *store_, metrics_, clock_,
      KeeperOptions{.backup_dir = options_.data_dir + "/backups", .retention = options_.retention});
  keeper_->Start();
  schedules_ = std::make_unique<ScheduleKeeper>(*store_, *coordinator_, clock_);
  history_ = std::make_unique<HistoryKeeper>(
      *store_, *coordinator_, metrics_, clock_,
      [this](const std::string& schedule, const kbench::v1::CellKey& cell) {
        return schedules_->IntervalOf(schedule, cell);
      });
  schedules_->SetObserver([this] { history_->OnSchedules(); });
  schedules_->SetGuard([this](const std::string& owner) { return access_->CheckOwner(owner); });
  coordinator_->SetResultObserver(
      [this](const auto& results, const auto& labels) { history_->OnResults(results, labels); });
  // Schedules first: cells ask for their intervals. Results last: which of them stay however old
  // they are is known from their cells.
  KB_RETURN_IF_ERROR(schedules_->Start());
  metrics_.SetScheduleSource([this] { return schedules_->Series(); });
  KB_RETURN_IF_ERROR(history_->Start());
  KB_RETURN_IF_ERROR(RestoreSeries());
  KB_RETURN_IF_ERROR(Listen());
  if (!options_.metrics_listen.empty()) {
    KB_ASSIGN_OR_RETURN(metrics_address_, metrics_.Serve(options_.metrics_listen, [this] {
      return coordinator_->WhyNotServing();
    }));
  }
  WriteState();
  return absl::OkStatus();
}

absl::Status ServerImpl::RestoreSeries() {
  KB_ASSIGN_OR_RETURN(const auto results, store_->LatestResults(kMostRestored));
  // Oldest first, so that the newest is the last to be evicted.
  for (auto it = results.rbegin(); it != results.rend(); ++it) metrics_.RestoreResult(*it);
  // What is pinned or scheduled may be older than all of these.
  for (const kbench::v1::CellKey& cell : metrics_.KeptWithoutResult()) {
    KB_ASSIGN_OR_RETURN(const auto found,
                        store_->FindMeasured({.kernel = cell.kernel(),
                                              .dtype = cell.dtype(),
                                              .shape = cell.shape(),
                                              .mode = cell.mode(),
                                              .implementation = cell.implementation(),
                                              .device = cell.device(),
                                              .since = 0,
                                              .most = kMostLooks}));
    RestoreNewest(found, cell.implementation());
  }
  return absl::OkStatus();
}

void ServerImpl::RestoreNewest(const std::vector<store::Measured>& found,
                               const std::string& implementation) {
  for (const store::Measured& one : found) {
    for (const kbench::v1::Result& result : one.results) {
      if (result.implementation() != implementation || !store::IsDefaultResult(result)) continue;
      metrics_.RestoreResult(result);
      return;
    }
  }
}

absl::Status ServerImpl::AddPorts(grpc::ServerBuilder& builder, std::vector<std::string>* addresses,
                                  std::vector<int>* ports) {
  const std::shared_ptr<grpc::ServerCredentials> plain = grpc::InsecureServerCredentials();
  std::shared_ptr<grpc::ServerCredentials> tcp = plain;
  if (options_.access.uses_tls()) {
    KB_ASSIGN_OR_RETURN(tcp, auth::MakeTlsCredentials(options_.access));
  }
  for (std::size_t i = 0; i < options_.listen.size(); ++i) {
    KB_ASSIGN_OR_RETURN(std::string address, PrepareAddress(options_.listen[i], options_.access));
    const bool is_unix = address.rfind("unix:", 0) == 0;
    builder.AddListeningPort(address, is_unix ? plain : tcp, &(*ports)[i]);
    addresses->push_back(std::move(address));
  }
  return absl::OkStatus();
}

// Every service stands behind the gate: who calls, and whether they may.
absl::Status ServerImpl::AddServices(grpc::ServerBuilder& builder) {
  admin_ = std::make_unique<AdminService>(*coordinator_, *keeper_);
  jobs_ = std::make_unique<JobService>(*coordinator_);
  results_ = std::make_unique<ResultService>(*store_, *coordinator_);
  devices_ = std::make_unique<DeviceService>(*coordinator_);
  scheduled_ = std::make_unique<ScheduleService>(*schedules_);
  told_ = std::make_unique<HistoryService>(*history_);
  workers_ = std::make_unique<WorkerService>(*coordinator_);
  const std::pair<const char*, grpc::Service*> services[] = {
      {"kbench.v1.AccountService", &accounts_},        {"kbench.v1.AdminService", admin_.get()},
      {"kbench.v1.DeviceService", devices_.get()},     {"kbench.v1.HistoryService", told_.get()},
      {"kbench.v1.JobService", jobs_.get()},           {"kbench.v1.ResultService", results_.get()},
      {"kbench.v1.ScheduleService", scheduled_.get()}, {"kbench.v1.WorkerService", workers_.get()},
  };
  for (const auto& [name, service] : services) {
    KB_ASSIGN_OR_RETURN(auto guarded, access_->gate().Guard(name, *service));
    builder.RegisterService(guarded.get());
    guarded_.push_back(std::move(guarded));
  }
  return absl::OkStatus();
}

absl::Status ServerImpl::Listen() {
  grpc::ServerBuilder builder;
  Serve(builder, metrics_.rpc_calls());
  std::vector<std::string> addresses;
  std::vector<int> ports(options_.listen.size(), 0);
  KB_RETURN_IF_ERROR(AddPorts(builder, &addresses, &ports));
  KB_RETURN_IF_ERROR(AddServices(builder));
  server_ = builder.BuildAndStart();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (server_ == nullptr || ports[i] == 0) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       "cannot listen on " + fmt::format("{}", fmt::join(addresses, ", ")) +
                           ": is the address taken? Give another --listen",
                       {.reason = "ADDRESS_IN_USE"});
    }
    const bool is_unix = addresses[i].rfind("unix:", 0) == 0;
    if (is_unix) KB_RETURN_IF_ERROR(access_->OpenSocket(addresses[i].substr(5)));
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
  metrics_.Stop();
  metrics_.SetScheduleSource(nullptr);
  if (coordinator_ != nullptr) coordinator_->Drain();
  if (server_ != nullptr) {
    server_->Shutdown(deadline);
    server_->Wait();
    server_.reset();
  }
  if (schedules_ != nullptr) schedules_->Stop();
  if (history_ != nullptr) history_->Stop();
  if (keeper_ != nullptr) keeper_->Stop();
  if (access_ != nullptr) access_->Stop();
  if (coordinator_ != nullptr) coordinator_->Stop();
}

}  // namespace

void ConfigureServer(grpc::ServerBuilder& builder) {
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
  // Threads beyond this end after each call: with fewer, every commit that many wait for would
  // start as many anew.
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 16);
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Clock& clock) {
  auto server = std::make_unique<ServerImpl>(options, clock);
  KB_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace kbench::server
