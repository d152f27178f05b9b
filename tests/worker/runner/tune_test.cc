// Candidates through the session: the real engine on the CPU and an implementation of which some
// configurations are refused, fail, are slow or are wrong.
#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/runner/session.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;

// A sum that is right, unless its candidate says otherwise.
class Choice final : public Instance {
 public:
  Choice(const Problem& problem, const OperandPointers& operands, std::string kind)
      : n_(problem.shape["n"]), operands_(operands), kind_(std::move(kind)) {}
  int Launch(void*) noexcept override {
    if (kind_ == "fails") return 42;
    if (kind_ != "fast") std::this_thread::sleep_for(std::chrono::milliseconds(3));
    double sum = kind_ == "wrong" ? 1e3 : 0;
    for (std::int64_t i = 0; i < n_; ++i) sum += static_cast<const float*>(operands_.inputs[0])[i];
    *static_cast<float*>(operands_.output) = static_cast<float>(sum);
    return 0;
  }
  std::map<std::string, std::string> Configuration() const override { return {{"kind", kind_}}; }

 private:
  const std::int64_t n_;
  const OperandPointers operands_;
  const std::string kind_;
};

Expected<std::unique_ptr<Instance>, ImplementationError> Create(const Problem& problem,
                                                                const OperandPointers& operands,
                                                                const DeviceContext& context) {
  if (context.candidate == "refused") {
    return ImplementationError{ImplementationError::Kind::kUnsupported, "not this shape", 0};
  }
  return std::unique_ptr<Instance>(new Choice(problem, operands, context.candidate));
}

template <typename Candidates>
Implementation Line(const char* name, Candidates candidates) {
  Implementation line;
  line.name = name;
  line.family = "test";
  line.kernel = "sum";
  line.dtypes = {DType::kFp32};
  line.candidates = candidates;
  line.create = Create;
  return line;
}

const std::vector<Implementation>& Lines() {
  using Words = std::vector<std::string>;
  static const std::vector<Implementation> lines = {
      Line("test/some",
           [](const Problem&) {
             return Words{"refused", "fails", "slow", "fast"};
           }),
      Line("test/one", [](const Problem&) { return Words{"slow"}; }),
      Line("test/none", nullptr),
      Line("test/bad",
           [](const Problem&) {
             return Words{"refused", "refused"};
           }),
      Line("test/broken",
           [](const Problem&) {
             return Words{"fails", "fails"};
           }),
      Line("test/lies",
           [](const Problem&) {
             return Words{"slow", "wrong"};
           }),
  };
  return lines;
}

class TuneTest : public ::testing::Test {
 protected:
  static RunnerIdentity Identity() {
    RunnerIdentity identity;
    identity.name = "test";
    identity.device = "cpu";
    for (const Implementation& line : Lines()) identity.implementations.push_back(&line);
    return identity;
  }
  v1::RunnerReply Prepare(const std::string& name, const std::string& candidate = "",
                          const std::string& mode = "cold") {
    v1::RunnerRequest request;
    v1::Prepare& prepare = *request.mutable_prepare();
    prepare.mutable_case_()->set_kernel("sum");
    prepare.mutable_case_()->set_dtype("fp32");
    prepare.mutable_case_()->set_size("1000");
    prepare.mutable_case_()->set_mode(mode);
    prepare.set_implementation(name);
    prepare.set_seed(1);
    prepare.set_candidate(candidate);
    return session_.Handle(request);
  }
  v1::RunnerReply Tune(double seconds = 5) {
    v1::RunnerRequest request;
    request.mutable_tune()->set_max_seconds(seconds);
    return session_.Handle(request);
  }
  v1::Verified Verify() {
    v1::RunnerRequest request;
    request.mutable_verify()->set_stage(v1::Verify::BEFORE);
    return session_.Handle(request).verified();
  }
  v1::BurstDone Burst(int samples) {
    v1::RunnerRequest request;
    request.mutable_burst()->set_samples(samples);
    return session_.Handle(request).burst();
  }
  void Finish() {
    v1::RunnerRequest request;
    request.mutable_finish();
    EXPECT_TRUE(session_.Handle(request).has_finished());
  }

  Session session_{Identity()};
};

TEST_F(TuneTest, TheFirstCandidateThatWorksIsTheDefault) {
  const v1::RunnerReply reply = Prepare("test/some");
  ASSERT_TRUE(reply.has_prepared()) << reply.ShortDebugString();
  EXPECT_EQ(reply.prepared().candidate(), "slow");
  EXPECT_EQ(reply.prepared().candidates(), 4);
  EXPECT_EQ(reply.prepared().tuned(), "default");
  EXPECT_EQ(reply.prepared().autotune_seconds(), 0);
  const auto& configuration = reply.prepared().configuration();
  EXPECT_EQ(configuration.at("kind"), "slow");
  EXPECT_EQ(configuration.at("candidate"), "slow");
  EXPECT_EQ(configuration.at("candidates"), "4");
  EXPECT_EQ(configuration.at("tuned"), "default");
}

TEST_F(TuneTest, TuningGoesOnWithTheFastest) {
  for (const char* mode : {"cold", "hot", "steady"}) {
    SCOPED_TRACE(mode);
    const v1::Prepared before = Prepare("test/some", "", mode).prepared();
    const v1::RunnerReply reply = Tune();
    ASSERT_TRUE(reply.has_tuned()) << reply.ShortDebugString();
    const v1::Prepared& tuned = reply.tuned();
    EXPECT_EQ(tuned.candidate(), "fast");
    EXPECT_EQ(tuned.tuned(), "measured");
    EXPECT_GT(tuned.autotune_seconds(), 0.005);
    EXPECT_EQ(tuned.first_call_seconds(), before.first_call_seconds());
    EXPECT_LT(tuned.estimate_seconds(), before.estimate_seconds());
    EXPECT_EQ(tuned.configuration().at("kind"), "fast");
    EXPECT_EQ(tuned.configuration().at("candidates_timed"), "2");
    EXPECT_EQ(tuned.mechanism(), before.mechanism());
    if (std::string(mode) == "steady") {
      EXPECT_GT(tuned.launches_per_sample(), 10 * before.launches_per_sample());
    }
    EXPECT_TRUE(Verify().passed());
    const v1::BurstDone burst = Burst(3);
    for (const double seconds : burst.device_seconds()) EXPECT_LT(seconds, 3e-3);
    Finish();
  }
}

TEST_F(TuneTest, WhatWasTunedBeforeIsTakenWhileItIsOffered) {
  const v1::Prepared cached = Prepare("test/some", "fast").prepared();
  EXPECT_EQ(cached.candidate(), "fast");
  EXPECT_EQ(cached.tuned(), "cached");
  Finish();
  for (const char* stale : {"gone", "refused", "fails"}) {
    const v1::Prepared prepared = Prepare("test/some", stale).prepared();
    EXPECT_EQ(prepared.candidate(), "slow") << stale;
    EXPECT_EQ(prepared.tuned(), "default") << stale;
    Finish();
  }
}

TEST_F(TuneTest, WithoutAChoiceNothingIsTuned) {
  EXPECT_EQ(Prepare("test/one").prepared().candidate(), "slow");
  EXPECT_EQ(Tune().tuned().tuned(), "");
  EXPECT_EQ(Tune().tuned().candidates(), 1);
  Finish();
  EXPECT_EQ(Prepare("test/none").prepared().configuration().count("candidate"), 0u);
  const v1::RunnerReply reply = Tune();
  ASSERT_TRUE(reply.has_tuned());
  EXPECT_EQ(reply.tuned().candidates(), 0);
  EXPECT_EQ(reply.tuned().autotune_seconds(), 0);
}

TEST_F(TuneTest, WhereNoCandidateWorksTheFailureIsAnOutcome) {
  v1::RunnerReply reply = Prepare("test/bad");
  EXPECT_EQ(reply.failure().outcome(), v1::OUTCOME_UNSUPPORTED);
  EXPECT_EQ(reply.failure().message(), "not this shape");
  reply = Prepare("test/broken");
  EXPECT_EQ(reply.failure().outcome(), v1::OUTCOME_CRASHED);
  EXPECT_EQ(reply.failure().reason(), "LAUNCH_FAILED");
  EXPECT_TRUE(Prepare("test/one").has_prepared()) << "the session goes on";
}

TEST_F(TuneTest, AWrongCandidateIsFoundByTheCheck) {
  ASSERT_EQ(Prepare("test/lies", "wrong").prepared().tuned(), "cached");
  EXPECT_FALSE(Verify().passed());
}

TEST_F(TuneTest, RequestsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(Tune().failure().reason(), "BAD_STATE");
  ASSERT_TRUE(Prepare("test/some").has_prepared());
  EXPECT_EQ(Tune(0).failure().reason(), "BAD_REQUEST");
  const auto hurried = Tune(1e-9);  // no time to try anything: the default stays, and says why
  ASSERT_TRUE(hurried.has_tuned());
  EXPECT_EQ(hurried.tuned().configuration().at("tuned"), "default");
  EXPECT_EQ(hurried.tuned().configuration().at("tuning"), "no time was left to try a candidate");
  EXPECT_TRUE(Verify().passed());
}

TEST_F(TuneTest, HelloTellsTheBuild) {
  v1::RunnerRequest request;
  request.mutable_hello();
  EXPECT_THAT(session_.Handle(request).hello().build_id(), ::testing::MatchesRegex("[0-9a-f]{40}"));
}

}  // namespace
}  // namespace kbench
