#include "worker/daemon/coordinator_address.h"

#include "proto/support/channel.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench {

std::function<std::shared_ptr<grpc::Channel>()> CoordinatorAddress::Connector() const {
  return [mine = *this] {
    const auto now = CredentialsFor(mine.address, mine.credentials_path);
    return MakeChannel(mine.address, now.ok() ? *now : mine.credentials);
  };
}

absl::StatusOr<CoordinatorAddress> ChooseCoordinator(const WorkerOptions& options) {
  CoordinatorAddress chosen;
  chosen.credentials_path =
      options.credentials.empty() ? WorkerCredentialsPath() : options.credentials;
  std::string server = options.server;
  if (server.empty()) {
    KB_ASSIGN_OR_RETURN(const auto joined, DefaultCredentials(chosen.credentials_path));
    server = joined.address.empty() ? DefaultSocketPath() : joined.address;
  }
  KB_ASSIGN_OR_RETURN(chosen.address, NormalizeAddress(server));
  KB_ASSIGN_OR_RETURN(chosen.credentials, CredentialsFor(chosen.address, chosen.credentials_path));
  return chosen;
}

}  // namespace kbench
