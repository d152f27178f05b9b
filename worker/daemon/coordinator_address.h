// Where the coordinator is, and what this worker shows it. A value.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "proto/support/credentials.h"
#include "worker/daemon/worker_options.h"

namespace kbench {

struct CoordinatorAddress {
  std::string address;
  std::string credentials_path;
  Credentials credentials;  // as they were at the start

  // A new channel each time, with the credentials as they are kept now: who was refused joins again
  // and need not restart the worker.
  std::function<std::shared_ptr<grpc::Channel>()> Connector() const;
};

// --server, else what was joined last, else the local stack. INVALID_ARGUMENT when that is no
// address; UNAUTHENTICATED when its credentials have expired.
absl::StatusOr<CoordinatorAddress> ChooseCoordinator(const WorkerOptions& options);

}  // namespace kbench
