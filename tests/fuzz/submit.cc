// Submit requests: whatever arrives is refused with a documented code and a field, or comes out as
// a specification that is accepted as it is.
#include <cstdint>
#include <set>

#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "kbench/v1/job_service.pb.h"
#include "proto/support/error.h"
#include "server/rpc/device_registry.h"
#include "server/rpc/validate.h"
#include "tests/fuzz/check.h"

namespace {

using kbench::server::DeviceRegistry;
using kbench::v1::SubmitJobRequest;

const DeviceRegistry& Devices() {
  static const DeviceRegistry* const registry = [] {
    auto* made = new DeviceRegistry;
    for (const char* name : {"cpu", "gpu0"}) {
      kbench::v1::Device device;
      device.set_name(name);
      device.set_kind(name[0] == 'c' ? "cpu" : "cuda");
      device.set_model("Model " + std::string(name));
      device.set_uuid("GPU-" + std::string(name));
      device.set_memory_bytes(std::int64_t{1} << 33);
      for (const char* kernel : {"matmul", "sum", "softmax"}) {
        kbench::v1::ImplementationInfo* info = device.add_implementations();
        info->set_name("cpu/naive");
        info->set_family("cpu");
        info->set_kernel(kernel);
        info->add_dtypes("fp32");
      }
      made->WorkerSaidHello(device, std::string("host/") + name, 1);
    }
    return made;
  }();
  return *registry;
}

void Try(const SubmitJobRequest& request) {
  const kbench::server::ValidateContext context{{&Devices(), false}};
  const auto spec = kbench::server::ValidateSubmit(request, context);
  if (spec.ok()) {
    SubmitJobRequest again = request;
    *again.mutable_spec() = *spec;
    const auto same = kbench::server::ValidateSubmit(again, context);
    KB_FUZZ_CHECK(same.ok());
    KB_FUZZ_CHECK(same->SerializeAsString() == spec->SerializeAsString());
    KB_FUZZ_CHECK(kbench::server::RequestDigest(again) == kbench::server::RequestDigest(again));
    return;
  }
  static const std::set<absl::StatusCode> documented = {
      absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition,
      absl::StatusCode::kNotFound, absl::StatusCode::kUnavailable};
  KB_FUZZ_CHECK(documented.count(spec.status().code()) == 1);
  KB_FUZZ_CHECK(!kbench::DetailsOf(spec.status()).reason.empty());
}

}  // namespace

// As bytes of the wire, and as text (which finds its way to the fields sooner).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SubmitJobRequest request;
  if (request.ParseFromArray(data, static_cast<int>(size))) Try(request);
  google::protobuf::TextFormat::Parser parser;
  struct Quiet final : google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } quiet;
  parser.RecordErrorsTo(&quiet);
  request.Clear();
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (parser.ParseFromString(text, &request)) Try(request);
  return 0;
}
