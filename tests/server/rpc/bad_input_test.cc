// Requests that are wrong: each gets its code, its field, its reason and one line that says what
// would be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::SubmitJobRequest;

struct BadRequest {
  const char* what;
  void (*spoil)(SubmitJobRequest&);
  absl::StatusCode code;
  const char* reason;
  const char* field;
  const char* says;  // part of the message
};

CaseSpec& FirstCase(SubmitJobRequest& request) { return *request.mutable_spec()->mutable_cases(0); }

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const BadRequest kBadRequests[] = {
    {"unknown kernel", [](auto& r) { FirstCase(r).set_kernel("matmull"); }, kInvalid,
     "UNKNOWN_KERNEL", "spec.cases[0].kernel", "matmul"},
    {"unknown dtype", [](auto& r) { FirstCase(r).set_dtype("fp17"); }, kInvalid, nullptr,
     "spec.cases[0].dtype", "fp16"},
    {"a dtype the device lacks", [](auto& r) { FirstCase(r).set_dtype("bf16"); }, kInvalid,
     "UNSUPPORTED_DTYPE", "spec.cases[0].dtype", "fp64, fp32, fp16"},
    {"a kernel the device lacks",
     [](auto& r) {
       FirstCase(r).set_kernel("softmax");
       FirstCase(r).set_size("64x64");
     },
     kInvalid, "NO_IMPLEMENTATION", "spec.cases[0].kernel", "cpu"},
    {"size 0", [](auto& r) { FirstCase(r).set_size("0"); }, kInvalid, "BAD_SIZE",
     "spec.cases[0].size", "0"},
    {"negative size", [](auto& r) { FirstCase(r).set_size("-4"); }, kInvalid, "BAD_SIZE",
     "spec.cases[0].size", "-4"},
    {"a word as size", [](auto& r) { FirstCase(r).set_size("big"); }, kInvalid, "BAD_SIZE",
     "spec.cases[0].size", "big"},
    {"a size of 65 bits", [](auto& r) { FirstCase(r).set_size("2^65"); }, kInvalid, "BAD_SIZE",
     "spec.cases[0].size", "2^65"},
    {"unknown mode", [](auto& r) { FirstCase(r).set_mode("warm"); }, kInvalid, "UNKNOWN_MODE",
     "spec.cases[0].mode", "warm"},
    {"larger than the device",
     [](auto& r) {
       FirstCase(r).set_size("32768");
       r.mutable_spec()->set_device("cpu");
     },
     kInvalid, "EXCEEDS_DEVICE_MEMORY", "spec.cases[0].size", "1073741824 bytes"},
    {"kernels brought along", [](auto& r) { r.mutable_spec()->add_user_kernels(); }, kInvalid,
     "NOT_YET", "spec.user_kernels", "brought along yet"},
    {"a baseline of one's own", [](auto& r) { r.mutable_spec()->set_baseline("cpu/naive"); },
     kInvalid, "NOT_YET", "spec.baseline", "the catalog's baseline"},
    {"no cases", [](auto& r) { r.mutable_spec()->clear_cases(); }, kInvalid, "NO_CASES",
     "spec.cases", "at least one"},
    {"unknown implementation", [](auto& r) { r.mutable_spec()->add_implementations("cpu/naiv"); },
     kInvalid, "UNKNOWN_IMPLEMENTATION", "spec.implementations[0]", "cpu/naive"},
    {"unknown device", [](auto& r) { r.mutable_spec()->set_device("gpu7"); },
     absl::StatusCode::kFailedPrecondition, "UNKNOWN_DEVICE", "spec.device", "cpu"},
    {"no GPU", [](auto& r) { r.mutable_spec()->set_device("gpu"); },
     absl::StatusCode::kFailedPrecondition, "UNKNOWN_DEVICE", "spec.device", "known devices: cpu"},
    {"priority", [](auto& r) { r.mutable_spec()->set_priority(1001); }, kInvalid, "OUT_OF_RANGE",
     "spec.priority", "1001"},
    {"class", [](auto& r) { r.mutable_spec()->set_priority_class("interactiv"); }, kInvalid,
     "UNKNOWN_CLASS", "spec.priority_class", "interactive, ci or batch, not interactiv"},
    {"a long class", [](auto& r) { r.mutable_spec()->set_priority_class(std::string(300, 'c')); },
     kInvalid, "TOO_LONG", "spec.priority_class", "300 bytes, at most 256"},
    {"target", [](auto& r) { r.mutable_spec()->mutable_policy()->set_target_ratio(0.9); }, kInvalid,
     "OUT_OF_RANGE", "spec.policy.target_ratio", "0.9"},
    {"NaN target",
     [](auto& r) {
       r.mutable_spec()->mutable_policy()->set_target_ratio(
           std::numeric_limits<double>::quiet_NaN());
     },
     kInvalid, "OUT_OF_RANGE", "spec.policy.target_ratio", "nan"},
    {"flush", [](auto& r) { r.mutable_spec()->mutable_policy()->set_flush("cleen"); }, kInvalid,
     "UNKNOWN_FLUSH", "spec.policy.flush", "clean"},
    {"what to do when busy",
     [](auto& r) { r.mutable_spec()->mutable_policy()->set_if_busy("waite"); }, kInvalid,
     "UNKNOWN_IF_BUSY", "spec.policy.if_busy",
     "wait (for at most 10 minutes), run or fail, not waite"},
    {"a profile of a CPU",
     [](auto& r) {
       r.mutable_spec()->set_device("cpu");
       r.mutable_spec()->mutable_policy()->set_profile(true);
     },
     kInvalid, "PROFILE_NEEDS_GPU", "spec.policy.profile", "needs a GPU and Nsight Compute"},
    {"a long if_busy",
     [](auto& r) { r.mutable_spec()->mutable_policy()->set_if_busy(std::string(300, 'w')); },
     kInvalid, "TOO_LONG", "spec.policy.if_busy", "300 bytes, at most 256"},
    {"margin", [](auto& r) { r.mutable_spec()->mutable_policy()->set_margin_ratio(0.0001); },
     kInvalid, "OUT_OF_RANGE", "spec.policy.margin_ratio", "0.001 to 0.5, not 0.0001"},
    {"NaN margin",
     [](auto& r) {
       r.mutable_spec()->mutable_policy()->set_margin_ratio(
           std::numeric_limits<double>::quiet_NaN());
     },
     kInvalid, "OUT_OF_RANGE", "spec.policy.margin_ratio", "nan"},
    {"budget",
     [](auto& r) { r.mutable_spec()->mutable_policy()->mutable_case_budget()->set_seconds(7200); },
     kInvalid, "OUT_OF_RANGE", "spec.policy.case_budget", "7200"},
    {"a long size", [](auto& r) { FirstCase(r).set_size(std::string(3'000'000, '1')); }, kInvalid,
     "TOO_LONG", "spec.cases[0].size", "3000000 bytes, at most 256"},
    {"a long kernel", [](auto& r) { FirstCase(r).set_kernel(std::string(257, 'k')); }, kInvalid,
     "TOO_LONG", "spec.cases[0].kernel", "257 bytes, at most 256"},
    {"a long mode", [](auto& r) { FirstCase(r).set_mode(std::string(257, 'm')); }, kInvalid,
     "TOO_LONG", "spec.cases[0].mode", "257 bytes, at most 256"},
    {"a long device", [](auto& r) { r.mutable_spec()->set_device(std::string(257, 'd')); },
     kInvalid, "TOO_LONG", "spec.device", "257 bytes, at most 256"},
    {"a long implementation",
     [](auto& r) { r.mutable_spec()->add_implementations(std::string(129, 'i')); }, kInvalid,
     "TOO_LONG", "spec.implementations[0]", "129 bytes, at most 128"},
    {"many implementations",
     [](auto& r) {
       for (int i = 0; i < 65; ++i) r.mutable_spec()->add_implementations("all");
     },
     kInvalid, "TOO_MANY_IMPLEMENTATIONS", "spec.implementations", "65"},
    {"a long owner", [](auto& r) { r.set_owner(std::string(300, 'o')); }, kInvalid, "BAD_OWNER",
     "owner", "1 to 64 letters"},
    {"a spec that is large in all",
     [](auto& r) {
       r = MatmulJob(1000);
       for (CaseSpec& item : *r.mutable_spec()->mutable_cases()) {
         for (std::string* text : {item.mutable_kernel(), item.mutable_dtype(), item.mutable_size(),
                                   item.mutable_mode(), item.mutable_shape()}) {
           *text = std::string(250, 'x');
         }
       }
     },
     kInvalid, "TOO_LONG", "spec", "at most 1048576 are allowed"},
    {"a newline in the owner", [](auto& r) { r.set_owner("ada\nroot"); }, kInvalid, "BAD_OWNER",
     "owner", "ada?root"},
    {"an escape in a label",
     [](auto& r) { (*r.mutable_spec()->mutable_labels())["a"] = "\x1b[2J"; }, kInvalid,
     "CONTROL_CHARACTER", "spec.labels", "a=?[2J"},
    {"a DEL in a label's key",
     [](auto& r) { (*r.mutable_spec()->mutable_labels())["a\x7f"] = "b"; }, kInvalid,
     "CONTROL_CHARACTER", "spec.labels", "a?=b"},
    {"a newline in a kernel", [](auto& r) { FirstCase(r).set_kernel("mat\nmul"); }, kInvalid,
     "UNKNOWN_KERNEL", "spec.cases[0].kernel", "mat?mul"},
    {"nanos of a second",
     [](auto& r) {
       r.mutable_spec()->mutable_queue_timeout()->set_seconds(5);
       r.mutable_spec()->mutable_queue_timeout()->set_nanos(1'000'000'000);
     },
     kInvalid, "BAD_DURATION", "spec.queue_timeout", "1000000000 ns"},
    {"signs that differ",
     [](auto& r) {
       r.mutable_spec()->mutable_policy()->mutable_case_budget()->set_seconds(5);
       r.mutable_spec()->mutable_policy()->mutable_case_budget()->set_nanos(-1);
     },
     kInvalid, "BAD_DURATION", "spec.policy.case_budget", "-1 ns"},
    {"queue timeout", [](auto& r) { r.mutable_spec()->mutable_queue_timeout()->set_seconds(-1); },
     kInvalid, "OUT_OF_RANGE", "spec.queue_timeout", "-1"},
};

TEST(BadInput, EachIsOneClearLineWithDetails) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  for (const BadRequest& bad : kBadRequests) {
    SCOPED_TRACE(bad.what);
    SubmitJobRequest request = MatmulJob();
    bad.spoil(request);
    const auto job = server.Submit(request);
    ASSERT_FALSE(job.ok());
    const std::string message = MessageOf(job.status());
    const ErrorDetails details = DetailsOf(job.status());
    EXPECT_EQ(job.status().code(), bad.code) << message;
    EXPECT_FALSE(details.reason.empty());
    if (bad.reason != nullptr) {
      EXPECT_EQ(details.reason, bad.reason);
    }
    EXPECT_THAT(message, ::testing::HasSubstr(bad.says));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    ASSERT_EQ(details.violations.size(), 1u);
    EXPECT_EQ(details.violations[0].field, bad.field);
  }
}

TEST(BadInput, TheNearestValuesAreMetadata) {
  TestServer server;
  SubmitJobRequest request = MatmulJob(3);
  request.mutable_spec()->mutable_cases(2)->set_dtype("fp61");
  const auto job = server.Submit(request);
  const ErrorDetails details = DetailsOf(job.status());
  EXPECT_EQ(details.violations.at(0).field, "spec.cases[2].dtype");
  EXPECT_THAT(details.metadata.at("nearest"), ::testing::HasSubstr("fp16"));
}

TEST(BadInput, TooManyCasesNamesBothNumbers) {
  TestServer server;
  const auto job = server.Submit(MatmulJob(10'000));
  EXPECT_EQ(DetailsOf(job.status()).reason, "TOO_MANY_CASES");
  EXPECT_THAT(MessageOf(job.status()),
              ::testing::AllOf(::testing::HasSubstr("10000"), ::testing::HasSubstr("1000;")));
}

TEST(BadInput, ADeviceNobodyHasHeardOfSaysUp) {
  TestServer server;
  const auto job = server.Submit(MatmulJob(1, "cpu"));
  EXPECT_EQ(job.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(job.status()), ::testing::HasSubstr("kbench-client up"));
}

TEST(BadInput, JustAfterAStartADeviceMayYetComeBack) {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.known_again_seconds = 60;
  TestServer server(options);
  const auto job = server.Submit(MatmulJob(1, "gpu3"));
  EXPECT_EQ(job.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(DetailsOf(job.status()).retry_after_seconds, 0);
}

TEST(BadInput, AFullQueueShedsWithRetryInfo) {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.limits.most_queued_cases = 5;
  TestServer server(options);
  server.MustSubmit(MatmulJob(5));
  const auto job = server.Submit(MatmulJob(1));
  EXPECT_EQ(job.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(DetailsOf(job.status()).retry_after_seconds, 0);
}

TEST(BadInput, ListingAnUnknownStateNamesTheStates) {
  TestServer server;
  for (const int state : {-1, 99}) {
    grpc::ClientContext context;
    kbench::v1::ListJobsRequest request;
    request.set_state(static_cast<kbench::v1::JobState>(state));
    kbench::v1::ListJobsResponse response;
    const absl::Status status = FromGrpc(server.jobs().ListJobs(&context, request, &response));
    EXPECT_EQ(status.code(), kInvalid);
    EXPECT_EQ(DetailsOf(status).violations.at(0).field, "state");
    EXPECT_THAT(MessageOf(status), ::testing::AllOf(::testing::HasSubstr(std::to_string(state)),
                                                    ::testing::HasSubstr("JOB_STATE_QUEUED (1)"),
                                                    ::testing::HasSubstr("JOB_STATE_EXPIRED (6)")));
  }
}

TEST(BadInput, FiltersThatNothingAppliesAreRefused) {
  TestServer server;
  for (const bool owner : {true, false}) {
    grpc::ClientContext context;
    kbench::v1::ListResultsRequest request;
    if (owner) {
      request.set_owner("ana");
    } else {
      request.set_user_kernels(true);
    }
    kbench::v1::ListResultsResponse response;
    const absl::Status status =
        FromGrpc(server.results().ListResults(&context, request, &response));
    EXPECT_EQ(DetailsOf(status).reason, "NOT_YET");
    EXPECT_EQ(DetailsOf(status).violations.at(0).field, owner ? "owner" : "user_kernels");
  }
}

TEST(BadInput, TheLargestJobIsAnsweredInOneMessage) {
  TestServer server;
  SubmitJobRequest request = MatmulJob(1000);
  for (CaseSpec& item : *request.mutable_spec()->mutable_cases()) {
    item.set_shape(std::string(950, 'x'));
  }
  ASSERT_LT(request.spec().ByteSizeLong(), 1u << 20);
  EXPECT_LT(server.MustSubmit(request).ByteSizeLong(), 4u << 20);
}

TEST(BadInput, UnknownNamesAreNotFound) {
  TestServer server;
  EXPECT_EQ(DetailsOf(server.Get("jobs/none").status()).reason, "JOB_NOT_FOUND");
  grpc::ClientContext context;
  kbench::v1::GetResultRequest request;
  request.set_name("results/none");
  kbench::v1::Result result;
  EXPECT_EQ(server.results().GetResult(&context, request, &result).error_code(),
            grpc::StatusCode::NOT_FOUND);
  grpc::ClientContext artifact_context;
  kbench::v1::GetArtifactRequest artifact;
  artifact.set_name("artifacts/none");
  kbench::v1::ArtifactChunk chunk;
  const auto reader = server.results().GetArtifact(&artifact_context, artifact);
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(BadInput, AddressesAreChecked) {
  TestServer server(TestServer::DefaultOptions(), "127.0.0.1:0");
  const auto error = [&](const std::string& listen, const std::string& metrics) {
    TempDir dir;
    ServerOptions options;
    options.listen = {listen};
    options.metrics_listen = metrics;
    options.data_dir = dir.path();
    const auto second = Server::Start(options, SystemClock());
    EXPECT_FALSE(second.ok()) << listen;
    return second.ok() ? "" : MessageOf(second.status());
  };
  const std::string used = server.server().listen().front();
  TempDir dir;
  EXPECT_THAT(error(used, ""), ::testing::HasSubstr("another server listens on"));
  EXPECT_THAT(error("0.0.0.0:0", ""), ::testing::HasSubstr("is not a loopback address"));
  EXPECT_THAT(error("unix:" + (dir / "s"), "0.0.0.0:0"),
              ::testing::HasSubstr("0.0.0.0:0 is not a loopback address"));
  EXPECT_THAT(error("unix:" + (dir / "s"), "unix:/x"), ::testing::HasSubstr("HOST:PORT"));
  EXPECT_THAT(error("unix:/tmp/" + std::string(110, 'x'), ""), ::testing::HasSubstr("107"));
  EXPECT_THAT(error("unix:" + (dir / "s"), server.server().metrics_address()),
              ::testing::HasSubstr("the port is taken"));
}

TEST(BadInput, AStaleSocketIsReplaced) {
  TempDir dir;
  ServerOptions options;
  options.listen = {"unix:" + (dir / "sub/s")};
  options.metrics_listen = "";
  options.data_dir = dir / "data";
  for (int i = 0; i < 2; ++i) {
    const auto server = Server::Start(options, SystemClock());
    ASSERT_TRUE(server.ok()) << server.status();
    // As a killed server leaves it.
    if (i == 0) std::filesystem::rename(dir / "sub/s", dir / "sub/kept");
  }
  std::filesystem::remove(dir / "sub/s");
  std::filesystem::rename(dir / "sub/kept", dir / "sub/s");
  EXPECT_TRUE(Server::Start(options, SystemClock()).ok());
}

}  // namespace
}  // namespace kbench::server
