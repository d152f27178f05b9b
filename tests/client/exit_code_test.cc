#include "client/exit_code.h"

#include <vector>

#include "proto/support/error.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using kbench::v1::Job;
using testing::Parse;

struct JobRow {
  const char* what;
  const char* job;
  int code;
};

// Every line is one sentence of client/README.md.
const JobRow kJobs[] = {
    {"all OK and VALID",
     R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { implementation: "a" outcome: OUTCOME_OK verdict: VERDICT_VALID } })",
     0},
    {"suspect", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_OK verdict: VERDICT_SUSPECT } })",
     4},
    {"invalid", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_OK verdict: VERDICT_INVALID } })",
     4},
    {"an OK row without a verdict is not trusted",
     R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED results { outcome: OUTCOME_OK } })",
     4},
    {"wrong beats suspect", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_OK verdict: VERDICT_SUSPECT } results { outcome: OUTCOME_WRONG_RESULT } })",
     1},
    {"crashed", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_CRASHED } })",
     1},
    {"out of memory", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_OUT_OF_MEMORY } })",
     1},
    {"compile error", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_COMPILE_ERROR } })",
     1},
    {"a hang", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_TIMED_OUT } })",
     6},
    {"a crash beats a hang", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_CRASHED } results { outcome: OUTCOME_TIMED_OUT } })",
     1},
    {"infrastructure beats all", R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_CRASHED } results { outcome: OUTCOME_INFRA } })",
     5},
    {"rows nobody asked for by name",
     R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_SUCCEEDED
        results { implementation: "cublas" outcome: OUTCOME_OK verdict: VERDICT_VALID }
        results { implementation: "cpu/naive" outcome: OUTCOME_SKIPPED }
        results { implementation: "x/y" outcome: OUTCOME_UNSUPPORTED } })",
     0},
    {"all is not a name", R"(state: JOB_STATE_SUCCEEDED spec { implementations: "all" }
        cases { state: JOB_STATE_SUCCEEDED results { implementation: "x" outcome: OUTCOME_UNSUPPORTED }
                results { implementation: "y" outcome: OUTCOME_OK verdict: VERDICT_VALID } })",
     0},
    {"nothing of a case ran", R"(state: JOB_STATE_SUCCEEDED
        cases { state: JOB_STATE_SUCCEEDED results { outcome: OUTCOME_OK verdict: VERDICT_VALID } }
        cases { state: JOB_STATE_SUCCEEDED results { implementation: "x" outcome: OUTCOME_UNSUPPORTED }
                results { implementation: "y" outcome: OUTCOME_SKIPPED } })",
     1},
    {"asked for by name and skipped",
     R"(state: JOB_STATE_SUCCEEDED spec { implementations: "cpu/naive" }
        cases { state: JOB_STATE_SUCCEEDED results { implementation: "cpu/naive" outcome: OUTCOME_SKIPPED } })",
     1},
    {"one of a family ran", R"(state: JOB_STATE_SUCCEEDED spec { implementations: "cpu" }
        cases { state: JOB_STATE_SUCCEEDED
          results { implementation: "cpu/naive" outcome: OUTCOME_SKIPPED }
          results { implementation: "cpu/onednn" outcome: OUTCOME_OK verdict: VERDICT_VALID } })",
     0},
    {"none of a family ran", R"(state: JOB_STATE_SUCCEEDED spec { implementations: "cpu" }
        cases { state: JOB_STATE_SUCCEEDED
          results { implementation: "cpu/naive" outcome: OUTCOME_SKIPPED }
          results { implementation: "cpu/onednn" outcome: OUTCOME_UNSUPPORTED } })",
     1},
    {"one environment of two ran", R"(state: JOB_STATE_SUCCEEDED
        spec { implementations: "torch" environments: "default" environments: "old" }
        cases { state: JOB_STATE_SUCCEEDED
          results { implementation: "torch" outcome: OUTCOME_OK verdict: VERDICT_VALID }
          results { implementation: "torch@old" outcome: OUTCOME_UNSUPPORTED } })",
     1},
    {"a family ran in each environment", R"(state: JOB_STATE_SUCCEEDED
        spec { implementations: "torch" environments: "default" environments: "old" }
        cases { state: JOB_STATE_SUCCEEDED
          results { implementation: "torch/a" outcome: OUTCOME_OK verdict: VERDICT_VALID }
          results { implementation: "torch/b" outcome: OUTCOME_SKIPPED }
          results { implementation: "torch/a@old" outcome: OUTCOME_OK verdict: VERDICT_VALID } })",
     0},
    {"asked for in one environment by name",
     R"(state: JOB_STATE_SUCCEEDED spec { implementations: "torch@old" }
        cases { state: JOB_STATE_SUCCEEDED
          results { implementation: "torch" outcome: OUTCOME_UNSUPPORTED }
          results { implementation: "torch/a@old" outcome: OUTCOME_OK verdict: VERDICT_VALID } })",
     0},
    {"cpu is not the family of cpux/y",
     R"(state: JOB_STATE_SUCCEEDED spec { implementations: "cpu" }
        cases { state: JOB_STATE_SUCCEEDED results { implementation: "cpux/y" outcome: OUTCOME_SKIPPED }
                results { implementation: "z" outcome: OUTCOME_OK verdict: VERDICT_VALID } })",
     0},
    {"cancelled", R"(state: JOB_STATE_CANCELLED cases { state: JOB_STATE_CANCELLED })", 7},
    {"expired", R"(state: JOB_STATE_EXPIRED cases { state: JOB_STATE_EXPIRED })", 6},
    {"failed", R"(state: JOB_STATE_FAILED reason: "POISON" cases { state: JOB_STATE_FAILED })", 5},
    {"one case of a sweep failed",
     R"(state: JOB_STATE_SUCCEEDED cases { state: JOB_STATE_FAILED } cases { state: JOB_STATE_SUCCEEDED
        results { outcome: OUTCOME_OK verdict: VERDICT_VALID } })",
     5},
};

TEST(ExitCodeTest, OfAJob) {
  for (const JobRow& row : kJobs) EXPECT_EQ(ExitCodeOf(Parse<Job>(row.job)), row.code) << row.what;
}

TEST(ExitCodeTest, OfAStatus) {
  const std::vector<std::pair<absl::Status, int>> table = {
      {absl::OkStatus(), 0},
      {absl::InvalidArgumentError("x"), 2},
      {absl::NotFoundError("x"), 2},
      {absl::AlreadyExistsError("x"), 2},
      {absl::FailedPreconditionError("x"), 2},
      {absl::ResourceExhaustedError("x"), 75},
      {absl::UnavailableError("x"), 5},
      {absl::InternalError("x"), 5},
      {absl::DeadlineExceededError("x"), 5},
      {absl::CancelledError("x"), 7},
      {MakeError(
           absl::StatusCode::kUnavailable, "starting",
           {.reason = "STARTING", .metadata = {}, .violations = {}, .retry_after_seconds = 2}),
       75},
  };
  for (const auto& [status, code] : table) EXPECT_EQ(ExitCodeOf(status), code) << status;
}

}  // namespace
}  // namespace kbench::client
