// CompareResults over gRPC: names, errors, families, and what the devices' canaries say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using kbench::v1::CompareResultsRequest;
using kbench::v1::CompareResultsResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompareTest : public testing::Test {
 protected:
  CompareTest() : worker_(server_, "w1", Calibrated()) { EXPECT_TRUE(worker_.Welcome()); }

  static kbench::v1::Device Calibrated() {
    kbench::v1::Device device = FakeDevice("cpu", "cpu");
    device.mutable_calibration()->set_between_session_ratio(0.02);
    device.mutable_calibration()->set_canaries(9);
    return device;
  }

  // A job of one case whose cells take the given times, in eight rounds; its id.
  std::string Measure(const std::vector<double>& seconds) {
    const kbench::v1::Job job = server_.MustSubmit(MatmulJob());
    const auto assign = worker_.Assign();
    EXPECT_TRUE(assign.has_value());
    auto attempt = FakeWorker::GoodResult(*assign);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      auto* time = attempt.mutable_results(static_cast<int>(i))->mutable_device_time();
      time->set_median(seconds[i]);
      for (int round = 0; round < 8; ++round) {
        time->add_round_medians(seconds[i] * (1 + 1e-4 * round));
        time->add_round_numbers(round);
      }
    }
    worker_.SendResult(attempt);
    EXPECT_TRUE(worker_.Ack().has_value());
    return job.name().substr(5);
  }

  absl::StatusOr<CompareResultsResponse> Compare(const CompareResultsRequest& request) {
    grpc::ClientContext context;
    CompareResultsResponse response;
    const grpc::Status status = server_.results().CompareResults(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

  // As DeviceService lists it.
  int CanariesOfDevice() {
    grpc::ClientContext context;
    kbench::v1::GetDeviceRequest request;
    request.set_name("devices/cpu");
    kbench::v1::Device device;
    EXPECT_TRUE(server_.devices().GetDevice(&context, request, &device).ok());
    return device.calibration().canaries();
  }

  static CompareResultsRequest Pair(const std::string& a, const std::string& b) {
    CompareResultsRequest request;
    request.add_pairs()->set_a(a);
    request.mutable_pairs(0)->set_b(b);
    return request;
  }

  void ExpectRefused(const CompareResultsRequest& request, const std::string& reason,
                     const std::string& field, const std::string& says) {
    const auto response = Compare(request);
    const ErrorDetails details = DetailsOf(response.status());
    EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(details.reason, reason);
    ASSERT_EQ(details.violations.size(), 1u);
    EXPECT_EQ(details.violations[0].field, field);
    EXPECT_THAT(MessageOf(response.status()), HasSubstr(says));
  }

  TestServer server_;
  FakeWorker worker_;
};

TEST_F(CompareTest, CellsOfOneCasePairByRound) {
  const std::string job = Measure({1e-3, 1.05e-3});
  const auto response = Compare(Pair(job + "-0-0", "results/" + job + "-0-1"));
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->comparisons_size(), 1);
  const auto& comparison = response->comparisons(0);
  EXPECT_TRUE(comparison.paired());
  EXPECT_NEAR(comparison.speedup(), 1.05, 1e-9);
  EXPECT_EQ(comparison.verdict(), "faster");
  EXPECT_EQ(comparison.baseline(), "results/" + job + "-0-1");
  EXPECT_EQ(comparison.margin_ratio(), 0.01);
}

TEST_F(CompareTest, SessionsAreWidenedByTheDevicesCanaries) {
  const std::string one = Measure({1.03e-3, 1e-3});
  const std::string two = Measure({1e-3, 1e-3});
  CompareResultsRequest request = Pair(one + "-0-0", two + "-0-0");
  // 3 % with 0.02 * 1.96 * sqrt(2) = 5.5 % on each side.
  auto response = Compare(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_FALSE(response->comparisons(0).paired());
  EXPECT_EQ(response->comparisons(0).verdict(), "inconclusive");
  EXPECT_NEAR(response->comparisons(0).speedup() / response->comparisons(0).low(), 1.057, 0.002);
  request.set_margin_ratio(0.2);
  response = Compare(request);
  EXPECT_EQ(response->comparisons(0).verdict(), "equivalent");
  EXPECT_EQ(response->comparisons(0).margin_ratio(), 0.2);
}

TEST_F(CompareTest, ACanaryOfLaterCountsFromTheNextHeartbeatOn) {
  const std::string one = Measure({1.03e-3, 1e-3});
  const std::string two = Measure({1e-3, 1e-3});
  kbench::v1::Heartbeat heartbeat;
  heartbeat.mutable_calibration()->set_between_session_ratio(0.001);
  heartbeat.mutable_calibration()->set_canaries(20);
  worker_.Beat(heartbeat);
  for (int i = 0; i < 500 && CanariesOfDevice() != 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(CanariesOfDevice(), 20);
  const auto response = Compare(Pair(one + "-0-0", two + "-0-0"));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->comparisons(0).verdict(), "slower");
  EXPECT_NEAR(response->comparisons(0).speedup() / response->comparisons(0).low(), 1.003, 0.0005);
}

TEST_F(CompareTest, PairsKeepTheirOrder) {
  const std::string job = Measure({1e-3, 2e-3});
  CompareResultsRequest request = Pair(job + "-0-0", job + "-0-1");
  request.add_pairs()->set_a(job + "-0-1");
  request.mutable_pairs(1)->set_b(job + "-0-0");
  const auto response = Compare(request);
  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->comparisons_size(), 2);
  EXPECT_EQ(response->comparisons(0).verdict(), "faster");
  EXPECT_EQ(response->comparisons(1).verdict(), "slower");
}

// A finding that stands alone among a job's own rows.
TEST_F(CompareTest, TheTableOfAnEndedJobIsOneFamily) {
  const kbench::v1::Job job = server_.MustSubmit(MatmulJob(20));
  for (int i = 0; i < 20; ++i) {
    const auto assign = worker_.Assign();
    ASSERT_TRUE(assign.has_value());
    auto attempt = FakeWorker::GoodResult(*assign);
    auto* comparison = attempt.mutable_results(0)->mutable_comparison();
    comparison->set_baseline("cpu/other");
    comparison->set_paired(true);
    comparison->set_speedup(i == 0 ? 0.965 : 1.001);
    comparison->set_low(i == 0 ? 0.94 : 0.997);
    comparison->set_high(i == 0 ? 0.99 : 1.005);
    comparison->set_verdict(i == 0 ? "slower" : "equivalent");
    worker_.SendResult(attempt);
    ASSERT_TRUE(worker_.Ack().has_value());
    if (i > 0) continue;
    const auto running = server_.Get(job.name());
    ASSERT_TRUE(running.ok());
    EXPECT_EQ(running->cases(0).results(0).comparison().verdict(), "slower") << "not complete yet";
  }
  const kbench::v1::Job ended = server_.WaitFor(job.name(), kbench::v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ended.cases(0).results(0).comparison().verdict(), "inconclusive");
  EXPECT_THAT(ended.cases(0).results(0).comparison().reasons(), ElementsAre("MANY_COMPARISONS"));
  EXPECT_EQ(ended.cases(1).results(0).comparison().verdict(), "equivalent");
}

TEST_F(CompareTest, WhatIsWrongIsNamed) {
  ExpectRefused({}, "NO_PAIRS", "pairs", "at least one pair");
  ExpectRefused(Pair("x", ""), "NO_NAME", "pairs[0].b", "results/JOB-CASE-CELL");
  CompareResultsRequest request = Pair("a", "b");
  request.set_margin_ratio(0.7);
  ExpectRefused(request, "OUT_OF_RANGE", "margin_ratio", "0.001 to 0.5, not 0.7");
  request.set_margin_ratio(0);
  for (int i = 0; i < 1000; ++i) *request.add_pairs() = request.pairs(0);
  ExpectRefused(request, "TOO_MANY_PAIRS", "pairs", "1001 pairs are too many");
}

TEST_F(CompareTest, AnUnknownResultIsNamed) {
  const std::string job = Measure({1e-3, 2e-3});
  const auto response = Compare(Pair(job + "-0-0", job + "-0-7"));
  EXPECT_EQ(response.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(DetailsOf(response.status()).reason, "RESULT_NOT_FOUND");
  EXPECT_THAT(MessageOf(response.status()), HasSubstr("results/" + job + "-0-7"));
}

}  // namespace
}  // namespace kbench::server
