// How the coordinator's methods are called and answered. Streams count when they end; how long they
// stood says nothing. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "prometheus/registry.h"

namespace kbench::metrics {

class RpcCalls {
 public:
  explicit RpcCalls(prometheus::Registry& registry);

  // `method`: "/kbench.v1.JobService/GetJob"; `code`: "OK", "NOT_FOUND". A negative time is not
  // observed. Never throws.
  void Handled(const std::string& method, const std::string& code, double seconds);

 private:
  prometheus::Family<prometheus::Counter>& handled_;
  prometheus::Family<prometheus::Histogram>& seconds_;
};

}  // namespace kbench::metrics
