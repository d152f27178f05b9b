// The whole coordinator process without main(): store, metrics, coordinator and the gRPC server,
// started and stopped in order. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/support/clock.h"
#include "server/auth/options.h"
#include "server/rpc/coordinator.h"

namespace grpc {
class ServerBuilder;
}

namespace kbench::server {

// The settings of every server of ours: keepalive, message sizes, threads.
void ConfigureServer(grpc::ServerBuilder& builder);

struct ServerOptions {
  std::vector<std::string> listen;                // empty: the default socket
  std::string metrics_listen = "127.0.0.1:7601";  // empty: no metrics
  std::string data_dir;                           // empty: the default
  store::Retention retention;
  metrics::SeriesBounds series;
  const char* store_vfs = nullptr;  // see store::SqliteOptions
  std::int64_t log_bytes = 0;       // the same
  auth::AuthOptions access;
  CoordinatorOptions coordinator;
};

class Server {
 public:
  // Every failure is one line that says what to do.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options, Clock& clock);
  // Stops without a farewell if Shutdown was not called.
  virtual ~Server() = default;

  // Drains: NOT_SERVING, streams ended with UNAVAILABLE, replies given, then everything closed.
  virtual void Shutdown() = 0;

  virtual const std::vector<std::string>& listen() const = 0;  // as really bound
  virtual const std::string& metrics_address() const = 0;      // empty: none
  virtual metrics::Metrics& metrics() = 0;
  virtual store::Store& store() = 0;
};

}  // namespace kbench::server
