// The coordinator's HTTP endpoint: /metrics, /-/healthy and /-/ready. Plain HTTP, for scrapers on
// this machine. One thread serves all of them and waits for none: connections are bounded in number
// and in age, and one more than may be takes the place of the oldest, so that those that send
// half a request or never read their answer keep nobody else out. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace kbench::metrics {

inline constexpr int kMostScrapers = 32;      // connections at a time
inline constexpr double kScrapeSeconds = 15;  // a connection's life, at most
inline constexpr int kMostRequestBytes = 8 << 10;

struct HttpSources {
  std::function<std::string()> metrics;    // the exposition; called on the endpoint's thread
  std::function<std::string()> not_ready;  // why no jobs are served; empty: they are
};

class HttpEndpoint {
 public:
  // On HOST:PORT (port 0: a free one). One line when it is taken.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Open(const std::string& address,
                                                            HttpSources sources);
  // Ends its thread and drops what is connected.
  ~HttpEndpoint();

  const std::string& address() const { return address_; }  // really bound

 private:
  class Loop;
  HttpEndpoint();

  std::string address_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace kbench::metrics
