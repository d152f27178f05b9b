#include "server/metrics/http.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "civetweb.h"
#include "proto/support/error.h"

namespace kbench::metrics {
namespace {

absl::Status CannotServe(const std::string& address, const std::string& what) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "cannot serve metrics on " + address + ": " + what +
                       "; give another --metrics-listen HOST:PORT, port 0 picks a free one",
                   {.reason = "METRICS_ADDRESS"});
}

// HOST:PORT with the host as a number, which is all that civetweb binds to without guessing.
absl::StatusOr<std::string> Numeric(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return CannotServe(address, "not HOST:PORT");
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int wrong = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (wrong != 0) return CannotServe(address, gai_strerror(wrong));
  char number[NI_MAXHOST] = "";
  const bool six = found->ai_family == AF_INET6;
  wrong = getnameinfo(found->ai_addr, found->ai_addrlen, number, sizeof(number), nullptr, 0,
                      NI_NUMERICHOST);
  freeaddrinfo(found);
  if (wrong != 0) return CannotServe(address, gai_strerror(wrong));
  return (six ? "[" + std::string(number) + "]" : number) + ":" + port;
}

struct Answer {
  int code = 200;
  std::string body;
};

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

Answer AnswerTo(std::string_view method, std::string_view page, const HttpSources& sources) {
  const bool reads = method == "GET" || method == "HEAD";
  if (reads && page == "/metrics") return {200, sources.metrics()};
  if (reads && page == "/-/healthy") return {200, "healthy\n"};
  if (reads && page == "/-/ready") {
    const std::string why = sources.not_ready ? sources.not_ready() : "";
    return why.empty() ? Answer{200, "ready\n"} : Answer{503, why + "\n"};
  }
  return {reads ? 404 : 405, "there are /metrics, /-/healthy and /-/ready, to be asked with GET\n"};
}

// Piece by piece: civetweb's own patience begins anew with every byte that goes.
void Send(mg_connection* connection, std::string_view text) {
  constexpr std::size_t kPieceBytes = 16 << 10;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kAnswerSeconds);
  while (!text.empty() && std::chrono::steady_clock::now() < end) {
    const std::string_view piece = text.substr(0, kPieceBytes);
    const int sent = mg_write(connection, piece.data(), piece.size());
    if (sent < static_cast<int>(piece.size())) return;
    text.remove_prefix(piece.size());
  }
}

// The status that was sent, as civetweb wants to know it.
int Serve(mg_connection* connection) {
  const mg_request_info* asked = mg_get_request_info(connection);
  const std::string_view method = asked->request_method;
  const Answer answer =
      AnswerTo(method, asked->local_uri, *static_cast<const HttpSources*>(asked->user_data));
  std::string text = "HTTP/1.1 " + std::to_string(answer.code) + " " + ReasonOf(answer.code) +
                     (answer.code == 405 ? "\r\nAllow: GET, HEAD" : "") +
                     "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"
                     "\r\nContent-Length: " +
                     std::to_string(answer.body.size()) + "\r\nConnection: close\r\n\r\n";
  if (method != "HEAD") text += answer.body;
  Send(connection, text);
  return answer.code;
}

}  // namespace

// Its callbacks begin before it is all there, and end with it.
class HttpEndpoint::Server {
 public:
  explicit Server(HttpSources sources) : sources_(std::move(sources)) { mg_init_library(0); }
  ~Server() {
    if (context_ != nullptr) Stop();
    mg_exit_library();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The port; 0: `wrong` says why not.
  int Start(const std::string& numeric, std::string* wrong) {
    const std::string threads = std::to_string(kScrapeThreads);
    const std::string stall = std::to_string(static_cast<int>(kStallSeconds * 1000));
    const char* options[] = {"listening_ports",    numeric.c_str(), "num_threads", threads.c_str(),
                             "request_timeout_ms", stall.c_str(),   nullptr};
    mg_callbacks callbacks = {};
    callbacks.begin_request = Serve;
    callbacks.log_message = KeepLog;
    mg_init_data init = {&callbacks, &sources_, options};
    char text[256] = "";
    mg_error_data error = {nullptr, text, sizeof(text)};
    Log().clear();
    context_ = mg_start2(&init, &error);
    mg_server_port port = {};
    const bool listens = context_ != nullptr && mg_get_server_ports(context_, 1, &port) == 1;
    if (!listens) *wrong = WhyNot(text);
    host_ = numeric.substr(0, numeric.rfind(':'));
    port_ = listens ? port.port : 0;
    return port_;
  }

 private:
  // What it logs while it starts says why it does not; later it is about single connections, each
  // of them a scraper's own affair.
  static int KeepLog(const mg_connection*, const char* message) {
    if (Log().empty()) Log() = message;
    return 1;
  }
  static std::string& Log() {
    thread_local std::string log;
    return log;
  }
  static std::string WhyNot(const std::string& text) {
    if (Log().find("in use") != std::string::npos) return "the port is taken";
    return Log().empty() ? text : Log();
  }

  // Civetweb looks at its stop flag when somebody connects, else every two seconds.
  void Stop() {
    std::atomic<bool> stopped = false;
    std::thread stopping([&] {
      mg_stop(context_);
      stopped = true;
    });
    while (!stopped) {
      char error[64];
      mg_connection* const poke = mg_connect_client(host_.c_str(), port_, 0, error, sizeof(error));
      if (poke != nullptr) mg_close_connection(poke);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stopping.join();
  }

  HttpSources sources_;
  mg_context* context_ = nullptr;
  std::string host_;  // a number
  int port_ = 0;
};

HttpEndpoint::HttpEndpoint() = default;
HttpEndpoint::~HttpEndpoint() = default;

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Open(const std::string& address,
                                                                 HttpSources sources) {
  KB_ASSIGN_OR_RETURN(const std::string numeric, Numeric(address));
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint);
  endpoint->server_ = std::make_unique<Server>(std::move(sources));
  std::string wrong;
  const int port = endpoint->server_->Start(numeric, &wrong);
  if (port == 0) return CannotServe(address, wrong);
  endpoint->address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  return endpoint;
}

}  // namespace kbench::metrics
