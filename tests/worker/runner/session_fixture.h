// A session in process with the real engine, the CPU table and the fixtures. For tests; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/runner/fixtures.h"
#include "worker/runner/cpu_identity.h"
#include "worker/runner/session.h"

namespace kbench {

inline RunnerIdentity TestIdentity() {
  RunnerIdentity identity = CpuIdentity(1);
  for (const Implementation& fixture : FixtureTable()) identity.implementations.push_back(&fixture);
  return identity;
}

class SessionTest : public ::testing::Test {
 protected:
  v1::RunnerReply Send(v1::RunnerRequest request) {
    request.set_id(++id_);
    v1::RunnerReply reply = session_.Handle(request);
    EXPECT_EQ(reply.id(), id_);
    return reply;
  }
  v1::RunnerRequest PrepareOf(const std::string& kernel, const std::string& size,
                              const std::string& implementation) {
    v1::RunnerRequest request;
    v1::Prepare* prepare = request.mutable_prepare();
    prepare->mutable_case_()->set_kernel(kernel);
    prepare->mutable_case_()->set_dtype("fp32");
    prepare->mutable_case_()->set_size(size);
    prepare->set_implementation(implementation);
    prepare->set_seed(1);
    prepare->set_launch_limit_seconds(5);
    return request;
  }
  v1::RunnerReply Prepare(const std::string& implementation) {
    return Send(PrepareOf("sum", "1000", implementation));
  }
  v1::RunnerReply Verify(v1::Verify::Stage stage, std::uint64_t seed = 0) {
    v1::RunnerRequest request;
    request.mutable_verify()->set_stage(stage);
    request.mutable_verify()->set_seed(seed);
    return Send(request);
  }
  v1::RunnerReply Burst(int samples, double max_seconds) {
    v1::RunnerRequest request;
    request.mutable_burst()->set_samples(samples);
    request.mutable_burst()->set_max_seconds(max_seconds);
    return Send(request);
  }
  v1::RunnerReply Warm(double min_seconds, double max_seconds) {
    v1::RunnerRequest request;
    request.mutable_warm()->set_min_seconds(min_seconds);
    request.mutable_warm()->set_max_seconds(max_seconds);
    return Send(request);
  }
  v1::RunnerReply Finish() {
    v1::RunnerRequest request;
    request.mutable_finish();
    return Send(request);
  }
  // Prepares, checks the failure, and sees that the session still works afterwards.
  void ExpectPrepareFails(const v1::RunnerRequest& request, v1::Outcome outcome,
                          const std::string& reason, const std::string& message_part) {
    const v1::RunnerReply reply = Send(request);
    ASSERT_TRUE(reply.has_failure()) << reply.ShortDebugString();
    EXPECT_EQ(reply.failure().outcome(), outcome) << reply.ShortDebugString();
    EXPECT_EQ(reply.failure().reason(), reason);
    EXPECT_THAT(reply.failure().message(), ::testing::HasSubstr(message_part));
    EXPECT_FALSE(reply.failure().fatal());
    EXPECT_TRUE(Prepare("cpu/naive").has_prepared());
    EXPECT_TRUE(Verify(v1::Verify::BEFORE).verified().passed());
    EXPECT_TRUE(Finish().has_finished());
  }
  void ExpectWrong(const std::string& implementation, const std::string& reason) {
    ASSERT_TRUE(Prepare(implementation).has_prepared());
    const v1::RunnerReply reply = Verify(v1::Verify::BEFORE);
    ASSERT_TRUE(reply.has_verified()) << reply.ShortDebugString();
    EXPECT_FALSE(reply.verified().passed());
    EXPECT_EQ(reply.verified().reason(), reason);
    EXPECT_FALSE(reply.verified().message().empty());
  }

  Session session_{TestIdentity()};
  std::uint64_t id_ = 0;
};

}  // namespace kbench
