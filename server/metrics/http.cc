#include "server/metrics/http.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "proto/support/error.h"
#include "server/metrics/http_request.h"

namespace kbench::metrics {
namespace {

constexpr int kLookMilliseconds = 500;  // how often it is looked for connections that are too old

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

absl::Status CannotServe(const std::string& address, const std::string& what) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "cannot serve metrics on " + address + ": " + what +
                       "; give another --metrics-listen HOST:PORT, port 0 picks a free one",
                   {.reason = "METRICS_ADDRESS"});
}

int PortOf(int fd) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

// A socket that listens, or -1 with errno. A port on which another process listens is refused.
int ListenOn(const addrinfo& where) {
  const int fd = socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, where.ai_addr, where.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

absl::StatusOr<int> Bind(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return CannotServe(address, "not HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int wrong = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (wrong != 0) return CannotServe(address, gai_strerror(wrong));
  int fd = -1;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = ListenOn(*one);
  }
  const int error = errno;
  freeaddrinfo(found);
  if (fd >= 0) return fd;
  return CannotServe(address, error == EADDRINUSE ? "the port is taken" : std::strerror(error));
}

}  // namespace

// Everything below runs on the loop's own thread, but for Start and the destructor.
class HttpEndpoint::Loop {
 public:
  Loop(int listener, HttpSources sources)
      : listener_(listener),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        sources_(std::move(sources)),
        thread_([this] { Run(); }) {}

  ~Loop() {
    eventfd_write(wake_, 1);
    thread_.join();
    while (!connections_.empty()) Drop(connections_.begin());
    close(listener_);
    close(wake_);
  }

 private:
  struct Connection {
    int fd = -1;
    double since = 0;
    std::string request;
    // What is sent; shared by those that asked at the same time. Null: the request is not whole.
    std::string head;
    std::shared_ptr<const std::string> body;
    std::size_t sent = 0;  // of both
    bool told = false;     // all is sent: what the other side still says is read and dropped
  };
  using Connections = std::list<Connection>;  // oldest first

  void Run() {
    std::vector<pollfd> watched;
    for (;;) {
      watched.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
      for (const Connection& one : connections_) {
        const bool sends = one.body != nullptr && !one.told;
        watched.push_back({one.fd, static_cast<short>(sends ? POLLOUT : POLLIN), 0});
      }
      poll(watched.data(), watched.size(), kLookMilliseconds);
      if ((watched[0].revents & POLLIN) != 0) return;
      exposition_.reset();
      std::size_t i = 2;
      for (auto one = connections_.begin(); one != connections_.end(); ++i) {
        const auto next = std::next(one);
        const bool goes_on = watched[i].revents == 0 || Serve(*one);
        if (!goes_on || Now() - one->since > kScrapeSeconds) Drop(one);
        one = next;
      }
      if (watched[1].revents != 0) Accept();
    }
  }

  void Accept() {
    for (int i = 0; i < kMostScrapers; ++i) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      const bool out_of_files = fd < 0 && (errno == EMFILE || errno == ENFILE);
      const auto most = static_cast<std::size_t>(kMostScrapers);
      if (!connections_.empty() && (out_of_files || (fd >= 0 && connections_.size() >= most))) {
        Drop(connections_.begin());
      }
      if (out_of_files) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (fd < 0) return;
      connections_.emplace_back();
      connections_.back().fd = fd;
      connections_.back().since = Now();
      // Mostly the request is there already.
      if (!Serve(connections_.back())) Drop(std::prev(connections_.end()));
    }
  }

  void Drop(Connections::iterator one) {
    close(one->fd);
    connections_.erase(one);
  }

  // As far as it goes without waiting; false: the connection is over.
  bool Serve(Connection& one) {
    while (one.body == nullptr || one.told) {
      char buffer[4096];
      const ssize_t count = recv(one.fd, buffer, sizeof(buffer), 0);
      if (count == 0) return false;
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      if (one.told) return true;  // once a pass: nobody talks the loop full
      one.request.append(buffer, static_cast<std::size_t>(count));
      if (one.request.find("\r\n\r\n") != std::string::npos) {
        Reply(one, RequestOf(one.request));
      } else if (one.request.size() > kMostRequestBytes) {
        HttpRequest refused;
        refused.code = 431;
        Reply(one, refused);
      }
    }
    return Send(one);
  }

  bool Send(Connection& one) {
    const std::size_t all = one.head.size() + one.body->size();
    while (one.sent < all) {
      const bool in_head = one.sent < one.head.size();
      const std::string& part = in_head ? one.head : *one.body;
      const std::size_t from = in_head ? one.sent : one.sent - one.head.size();
      const ssize_t count = send(one.fd, part.data() + from, part.size() - from, MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      one.sent += static_cast<std::size_t>(count);
    }
    // Closing at once would reset the connection, and the answer with it, if more had been said.
    one.told = true;
    one.body = std::make_shared<const std::string>();
    return shutdown(one.fd, SHUT_WR) == 0;
  }

  void Reply(Connection& one, const HttpRequest& request) {
    int code = request.code;
    std::shared_ptr<const std::string> body;
    if (code == 0 && request.path == "/metrics") {
      if (exposition_ == nullptr) {
        exposition_ = std::make_shared<const std::string>(sources_.metrics());
      }
      code = 200;
      body = exposition_;
    } else if (code == 0 && request.path == "/-/healthy") {
      code = 200;
      body = std::make_shared<const std::string>("healthy\n");
    } else if (code == 0 && request.path == "/-/ready") {
      const std::string why = sources_.not_ready ? sources_.not_ready() : "";
      code = why.empty() ? 200 : 503;
      body = std::make_shared<const std::string>(why.empty() ? "ready\n" : why + "\n");
    } else {
      code = code == 0 ? 404 : code;
      body = std::make_shared<const std::string>(
          "there are /metrics, /-/healthy and /-/ready, to be asked with GET\n");
    }
    one.head = HttpHead(code, body->size());
    one.body = request.head_only ? std::make_shared<const std::string>() : std::move(body);
  }

  const int listener_;
  const int wake_;
  const HttpSources sources_;
  Connections connections_;
  std::shared_ptr<const std::string> exposition_;  // of this pass of the loop
  std::thread thread_;                             // begins last
};

HttpEndpoint::HttpEndpoint() = default;
HttpEndpoint::~HttpEndpoint() = default;

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Open(const std::string& address,
                                                                 HttpSources sources) {
  KB_ASSIGN_OR_RETURN(const int listener, Bind(address));
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint);
  endpoint->address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(PortOf(listener));
  endpoint->loop_ = std::make_unique<Loop>(listener, std::move(sources));
  return endpoint;
}

}  // namespace kbench::metrics
