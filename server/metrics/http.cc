#include "server/metrics/http.h"

#include <CivetServer.h>

#include <utility>
#include <vector>

#include "proto/support/error.h"

namespace kbench::metrics {
namespace {

// A scrape and whoever looks beside it. One that reads slowly holds one of them, for as long as the
// server waits for it.
constexpr char kThreads[] = "4";
constexpr char kPatienceMilliseconds[] = "5000";
constexpr char kText[] = "text/plain; version=0.0.4; charset=utf-8";

struct Answer {
  int code = 200;
  std::string body;
};

absl::Status CannotServe(const std::string& address, const std::string& what) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "cannot serve metrics on " + address + ": " + what +
                       "; give another --metrics-listen HOST:PORT, port 0 picks a free one",
                   {.reason = "METRICS_ADDRESS"});
}

}  // namespace

class HttpEndpoint::Page final : public CivetHandler {
 public:
  explicit Page(std::function<Answer()> answer) : answer_(std::move(answer)) {}

  bool handleGet(CivetServer*, mg_connection* connection) override {
    const Answer answer = answer_();
    mg_printf(connection,
              "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
              "Connection: close\r\n\r\n",
              answer.code, answer.code == 200 ? "OK" : "Service Unavailable", kText,
              answer.body.size());
    mg_write(connection, answer.body.data(), answer.body.size());
    return true;
  }

 private:
  const std::function<Answer()> answer_;
};

HttpEndpoint::HttpEndpoint() = default;
HttpEndpoint::~HttpEndpoint() = default;

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Open(const std::string& address,
                                                                 HttpSources sources) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return CannotServe(address, "not HOST:PORT");
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint);
  endpoint->metrics_ = std::make_unique<Page>([text = std::move(sources.metrics)] {
    return Answer{200, text()};
  });
  endpoint->healthy_ = std::make_unique<Page>([] { return Answer{200, "healthy\n"}; });
  endpoint->ready_ = std::make_unique<Page>([why = std::move(sources.not_ready)] {
    const std::string reason = why ? why() : "";
    return reason.empty() ? Answer{200, "ready\n"} : Answer{503, reason + "\n"};
  });
  try {
    endpoint->server_ = std::make_unique<CivetServer>(std::vector<std::string>{
        "listening_ports", address, "num_threads", kThreads, "request_timeout_ms",
        kPatienceMilliseconds, "keep_alive_timeout_ms", "500"});
  } catch (const CivetException&) {  // it says no more than that it could not bind
    return CannotServe(address, "the port is taken, or the address is not this machine's");
  }
  endpoint->server_->addHandler("/metrics", endpoint->metrics_.get());
  endpoint->server_->addHandler("/-/healthy", endpoint->healthy_.get());
  endpoint->server_->addHandler("/-/ready", endpoint->ready_.get());
  const std::vector<int> ports = endpoint->server_->getListeningPorts();
  if (ports.empty()) return CannotServe(address, "no port was bound");
  endpoint->address_ = address.substr(0, colon + 1) + std::to_string(ports.front());
  return endpoint;
}

}  // namespace kbench::metrics
