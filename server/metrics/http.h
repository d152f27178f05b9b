// The coordinator's HTTP endpoint: /metrics, /-/healthy and /-/ready. Plain HTTP, for a scraper on
// this machine. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

class CivetServer;

namespace kbench::metrics {

struct HttpSources {
  std::function<std::string()> metrics;    // the exposition; called on the endpoint's threads
  std::function<std::string()> not_ready;  // why no jobs are served; empty: they are
};

class HttpEndpoint {
 public:
  // On HOST:PORT (port 0: a free one). One line when it is taken.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Open(const std::string& address,
                                                            HttpSources sources);
  ~HttpEndpoint();

  const std::string& address() const { return address_; }  // really bound

 private:
  class Page;
  HttpEndpoint();

  std::string address_;
  std::unique_ptr<Page> metrics_;
  std::unique_ptr<Page> healthy_;
  std::unique_ptr<Page> ready_;
  std::unique_ptr<CivetServer> server_;  // ends first
};

}  // namespace kbench::metrics
