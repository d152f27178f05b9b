// The coordinator's configuration: an error of one line, or settings within their bounds.
#include <cmath>
#include <cstdint>
#include <string>

#include "proto/support/error.h"
#include "server/rpc/server_options.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/text_file.h"

namespace {

void CheckCoordinator(const kbench::server::CoordinatorOptions& options) {
  const double lease = options.scheduler.lease_seconds;
  KB_FUZZ_CHECK(lease >= 1 && lease <= 3600);
  KB_FUZZ_CHECK(options.heartbeat_seconds >= 0.1 && 3 * options.heartbeat_seconds <= lease);
  KB_FUZZ_CHECK(options.max_hold_seconds >= 1 && options.max_hold_seconds <= 7 * 24 * 3600.0);
  KB_FUZZ_CHECK(options.hold_lapse_seconds >= 1 && options.hold_lapse_seconds <= 3600);
  const kbench::server::LimitOptions& limits = options.limits;
  KB_FUZZ_CHECK(limits.most_queued_cases > 0 && limits.most_jobs_of_owner > 0);
  KB_FUZZ_CHECK(limits.most_cases_of_owner > 0 && limits.submit_burst > 0);
  KB_FUZZ_CHECK(std::isfinite(limits.submits_per_second) && limits.submits_per_second >= 0);
  KB_FUZZ_CHECK(std::isfinite(limits.most_job_seconds) && limits.most_job_seconds >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const char* const argv[] = {"kbench-server", "--config", kbench::fuzz::FileOf(text)};
  kbench::server::ProgramOptions options;
  const auto answer = kbench::server::ReadServerOptions(3, argv, &options);
  if (!answer.ok()) {
    KB_FUZZ_CHECK(answer.status().code() == absl::StatusCode::kInvalidArgument);
    KB_FUZZ_CHECK(kbench::DetailsOf(answer.status()).reason == "BAD_OPTION");
    KB_FUZZ_CHECK(answer.status().message().find('\n') == std::string::npos);
    return 0;
  }
  if (!answer->empty()) return 0;  // help
  CheckCoordinator(options.server.coordinator);
  KB_FUZZ_CHECK(options.server.access.audit_bytes >= 4096);
  KB_FUZZ_CHECK(!options.server.data_dir.empty() || text.find("data-dir") != std::string::npos);
  for (const auto kind : {kbench::store::Kind::kSamples, kbench::store::Kind::kLogs,
                          kbench::store::Kind::kArtifacts, kbench::store::Kind::kEvents}) {
    const kbench::store::Keep& keep = options.server.retention.Of(kind);
    KB_FUZZ_CHECK(keep.seconds >= 0 && keep.bytes >= 0);
  }
  return 0;
}
