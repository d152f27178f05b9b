#include "proto/support/channel.h"

#include <utility>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "proto/support/call_identity.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

// Retried are calls that may be repeated: reads, and SubmitJob and CancelJob, which are idempotent.
// Streams resume by themselves.
constexpr char kServiceConfig[] = R"({
  "methodConfig": [{
    "name": [
      {"service": "kbench.v1.JobService", "method": "SubmitJob"},
      {"service": "kbench.v1.JobService", "method": "GetJob"},
      {"service": "kbench.v1.JobService", "method": "ListJobs"},
      {"service": "kbench.v1.JobService", "method": "CancelJob"},
      {"service": "kbench.v1.JobService", "method": "GetQueue"},
      {"service": "kbench.v1.JobService", "method": "ExplainJob"},
      {"service": "kbench.v1.DeviceService"}
    ],
    "retryPolicy": {
      "maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
})";

std::shared_ptr<grpc::ChannelCredentials> TransportOf(const Credentials& credentials) {
  if (!credentials.uses_tls()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({credentials.ca, credentials.key, credentials.certificate});
}

using Interceptors =
    std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>;

bool SendsToken(const std::string& address, const Credentials& credentials) {
  const bool in_the_clear = !credentials.uses_tls() && !IsLoopback(address);
  return !credentials.token.empty() && !in_the_clear;
}

// Call credentials of gRPC's own need TLS; a Unix socket has none, so the header is ours.
Interceptors IdentityOf(const std::string& address, const Credentials& credentials) {
  Interceptors interceptors;
  const bool unix_socket = address.rfind("unix:", 0) == 0;
  if (SendsToken(address, credentials)) {
    interceptors.push_back(MakeTokenInterceptor(credentials.token));
  } else if (unix_socket) {
    interceptors.push_back(MakeLocalInterceptor(address.substr(5)));
  }
  return interceptors;
}

bool Says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

bool TellsWho(const std::string& address, const Credentials& credentials) {
  return credentials.uses_tls() || SendsToken(address, credentials);
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const Credentials& credentials) {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(kMaxMessageBytes);
  args.SetMaxSendMessageSize(kMaxMessageBytes);
  args.SetServiceConfigJSON(kServiceConfig);
  args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  // The time one attempt to connect has: a TLS handshake over a network needs more than a socket.
  const bool unix_socket = address.rfind("unix:", 0) == 0;
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, unix_socket ? 200 : 10'000);
  // Shorter than half the time in which a silent client of a hold loses its device, mostly.
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, TransportOf(credentials), args, IdentityOf(address, credentials));
}

absl::Status ExplainConnection(const std::string& grpc_message, const std::string& address) {
  const auto fault = [](const std::string& message, const char* reason) {
    return MakeError(absl::StatusCode::kUnauthenticated, message, {.reason = reason});
  };
  if (Says(grpc_message, "certificate verify failed") ||
      Says(grpc_message, "CERTIFICATE_VERIFY_FAILED")) {
    return fault("the certificate of " + address +
                     " is not signed by the authority you joined with, or has expired; join again "
                     "with a new line, or renew the certificate there (kbench-server renew)",
                 "WRONG_CA");
  }
  if (Says(grpc_message, "Peer name") || Says(grpc_message, "Hostname Verification")) {
    return fault("the certificate of " + address +
                     " is for other names; use one of those, or make a certificate with this name "
                     "(kbench-server renew --name)",
                 "WRONG_HOST");
  }
  if (Says(grpc_message, "WRONG_VERSION_NUMBER") || Says(grpc_message, "wrong version number")) {
    return fault(address + " does not speak TLS, which your credentials for it ask for",
                 "NO_TLS_THERE");
  }
  const bool tcp = address.rfind("unix:", 0) != 0;
  if (tcp && Says(grpc_message, "failed to connect") &&
      (Says(grpc_message, "Socket closed") || Says(grpc_message, "Connection reset"))) {
    return fault("something answers on " + address +
                     ", but not without TLS; ask an admin for a line (kbench-server invite), then: "
                     "kbench-client join LINE (programs set KBENCH_TOKEN and KBENCH_CA)",
                 "TLS_THERE");
  }
  return absl::OkStatus();
}

}  // namespace kbench
