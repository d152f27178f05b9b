#include "client/backend.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "proto/support/channel.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "proto/support/user_name.h"

namespace kbench::client {
namespace {

constexpr char kUnix[] = "unix:";

absl::Status NothingListens(const std::string& address) {
  const bool local = address == kUnix + DefaultSocketPath();
  return MakeError(
      absl::StatusCode::kUnavailable,
      local ? fmt::format("nothing listens on {}; start the local stack with: kbench-client up",
                          address)
            : fmt::format("nothing listens on {}; start kbench-server there, or the local stack "
                          "with: kbench-client up",
                          address),
      {.reason = "NOTHING_LISTENS", .metadata = {}, .violations = {}});
}

// A plain connect() costs microseconds and knows why it fails; gRPC would back off and try again.
absl::Status ProbeUnixSocket(const std::string& address) {
  const std::string path = address.substr(std::strlen(kUnix));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) return absl::OkStatus();  // NormalizeAddress refused it
  std::memcpy(name.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::OkStatus();
  const int rc = connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
  const int error = rc == 0 ? 0 : errno;
  close(fd);
  if (error == ENOENT || error == ECONNREFUSED || error == ENOTDIR) return NothingListens(address);
  if (error == EACCES) {
    return MakeError(
        absl::StatusCode::kPermissionDenied,
        fmt::format("no permission to connect to {}; it belongs to another user", address),
        {.reason = "SOCKET_PERMISSION", .metadata = {}, .violations = {}});
  }
  return absl::OkStatus();
}

}  // namespace

Backend MakeBackend(const std::string& address, std::shared_ptr<grpc::ChannelInterface> channel) {
  Backend backend;
  backend.address = address;
  backend.jobs = kbench::v1::JobService::NewStub(channel);
  backend.results = kbench::v1::ResultService::NewStub(channel);
  backend.devices = kbench::v1::DeviceService::NewStub(channel);
  backend.history = kbench::v1::HistoryService::NewStub(channel);
  backend.schedules = kbench::v1::ScheduleService::NewStub(channel);
  backend.admin = kbench::v1::AdminService::NewStub(channel);
  backend.accounts = kbench::v1::AccountService::NewStub(channel);
  backend.channel = std::move(channel);
  return backend;
}

absl::StatusOr<Backend> ConnectWith(const std::string& address, const Credentials& credentials) {
  if (address.rfind(kUnix, 0) == 0) KB_RETURN_IF_ERROR(ProbeUnixSocket(address));
  Backend backend = MakeBackend(address, MakeChannel(address, credentials));
  const bool unix_socket = address.rfind(kUnix, 0) == 0;
  if (!unix_socket && !TellsWho(address, credentials)) backend.claimed_owner = UserName(getuid());
  return backend;
}

absl::StatusOr<Backend> Connect(const std::string& address) {
  std::string chosen = address;
  if (chosen.empty()) {
    auto joined = DefaultCredentials(ClientCredentialsPath());
    if (!joined.ok()) return joined.status();
    chosen = joined->address.empty() ? kUnix + DefaultSocketPath() : joined->address;
  }
  auto normalized = NormalizeAddress(chosen);
  if (!normalized.ok()) return normalized.status();
  auto credentials = CredentialsFor(*normalized, ClientCredentialsPath());
  if (!credentials.ok()) return credentials.status();
  return ConnectWith(*normalized, *credentials);
}

absl::Status Explain(const absl::Status& status, const std::string& address) {
  if (status.code() == absl::StatusCode::kUnavailable && DetailsOf(status).reason.empty()) {
    const absl::Status connection = ExplainConnection(MessageOf(status), address);
    return connection.ok() ? NothingListens(address) : connection;
  }
  if (status.code() == absl::StatusCode::kDeadlineExceeded && DetailsOf(status).reason.empty()) {
    return MakeError(absl::StatusCode::kDeadlineExceeded,
                     fmt::format("no answer from {} within 30 s; its log may say why", address),
                     {.reason = "NO_ANSWER", .metadata = {}, .violations = {}});
  }
  return status;
}

}  // namespace kbench::client
