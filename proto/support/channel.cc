#include "proto/support/channel.h"

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

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

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
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
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), args);
}

}  // namespace kbench
