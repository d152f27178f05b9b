// The coordinator's HTTP endpoint: /metrics, /-/healthy and /-/ready. Plain HTTP, for scrapers on
// this machine, by civetweb (what prometheus-cpp's own Exposer stands on; that one has no other
// pages and cannot say why an address is refused). A fixed number of threads: a scraper that sends
// half a request or never reads its answer keeps one of them for kStallSeconds, one that reads it
// little by little for kAnswerSeconds; kScrapeThreads - 1 of these delay nobody. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace kbench::metrics {

inline constexpr int kScrapeThreads = 16;
inline constexpr double kStallSeconds = 3;  // without a byte to or from a scraper
// For the whole of an answer: as long as a Prometheus waits for one at the most, by its default.
inline constexpr double kAnswerSeconds = 10;

struct HttpSources {
  std::function<std::string()> metrics;    // the exposition; called by several threads at once
  std::function<std::string()> not_ready;  // why no jobs are served; empty: they are
};

class HttpEndpoint {
 public:
  // On HOST:PORT (port 0: a free one). One line when it is taken.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Open(const std::string& address,
                                                            HttpSources sources);
  // Waits for the answers that are being sent, kStallSeconds at most.
  ~HttpEndpoint();

  const std::string& address() const { return address_; }  // really bound

 private:
  class Server;
  HttpEndpoint();

  std::string address_;
  std::unique_ptr<Server> server_;
};

}  // namespace kbench::metrics
