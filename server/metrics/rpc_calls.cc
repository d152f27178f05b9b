#include "server/metrics/rpc_calls.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

namespace kbench::metrics {
namespace {

const prometheus::Histogram::BucketBoundaries kBuckets = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
constexpr char kPackage[] = "/kbench.v1.";

// "JobService/GetJob"
std::string Short(const std::string& method) {
  return method.rfind(kPackage, 0) == 0 ? method.substr(sizeof(kPackage) - 1) : method;
}

}  // namespace

RpcCalls::RpcCalls(prometheus::Registry& registry)
    : handled_(prometheus::BuildCounter()
                   .Name("kbench_grpc_server_handled_total")
                   .Help("Calls that ended, by method and status.")
                   .Register(registry)),
      seconds_(prometheus::BuildHistogram()
                   .Name("kbench_grpc_server_handling_seconds")
                   .Help("Time from a call's request to its answer; streams are not in it.")
                   .Register(registry)) {}

void RpcCalls::Handled(const std::string& method, const std::string& code, double seconds) {
  const std::string name = Short(method);
  handled_.Add({{"method", name}, {"code", code}}).Increment();
  if (seconds >= 0) seconds_.Add({{"method", name}}, kBuckets).Observe(seconds);
}

}  // namespace kbench::metrics
