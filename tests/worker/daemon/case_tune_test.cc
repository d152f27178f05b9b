// Candidates and lower variants: what the driver makes of them.
#include "tests/worker/daemon/case_driver_fixture.h"

namespace kbench {
namespace {

using testing::HasSubstr;

TEST_F(CaseDriverTest, ACandidateIsMeasuredOnceAndKnownFromThenOn) {
  const std::string path = scratch_ + "/tuning.json";
  TuningStore store(path, "device");
  tuning_ = &store;
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"fake/tuned"}, {"fake/tuned", "fake/fast"}}) {
    ASSERT_TRUE(store.Forget().ok());
    Implementations(names);
    auto results = Run();
    const v1::Result& measured = results["fake/tuned"];
    EXPECT_EQ(measured.outcome(), v1::OUTCOME_OK) << measured.message();
    EXPECT_EQ(measured.configuration().at("candidate"), "b");
    EXPECT_EQ(measured.configuration().at("tuned"), "measured");
    EXPECT_EQ(measured.autotune_seconds(), 0.25);
    EXPECT_EQ(progress_.front().phase(), "prepare");

    TuningStore after_restart(path, "device");
    tuning_ = &after_restart;
    const v1::Result cached = Run()["fake/tuned"];
    EXPECT_EQ(cached.outcome(), v1::OUTCOME_OK) << cached.message();
    EXPECT_EQ(cached.configuration().at("candidate"), "b");
    EXPECT_EQ(cached.configuration().at("tuned"), "cached");
    EXPECT_EQ(cached.autotune_seconds(), 0);
    tuning_ = &store;
  }
}

TEST_F(CaseDriverTest, AnotherShapeIsTunedAnew) {
  TuningStore store(scratch_ + "/tuning.json", "device");
  tuning_ = &store;
  Implementations({"fake/tuned"});
  EXPECT_EQ(Run()["fake/tuned"].configuration().at("tuned"), "measured");
  assign_.mutable_case_()->set_size("128");
  EXPECT_EQ(Run()["fake/tuned"].configuration().at("tuned"), "measured");
  assign_.mutable_case_()->set_size("64");
  EXPECT_EQ(Run()["fake/tuned"].configuration().at("tuned"), "cached");
}

// Trials are flushed as the samples are: a warm cache prefers another candidate.
TEST_F(CaseDriverTest, AnotherFlushIsTunedAnew) {
  TuningStore store(scratch_ + "/tuning.json", "device");
  tuning_ = &store;
  Implementations({"fake/tuned"});
  EXPECT_EQ(Run()["fake/tuned"].configuration().at("tuned"), "measured");
  assign_.mutable_policy()->set_flush("none");
  EXPECT_EQ(Run()["fake/tuned"].configuration().at("tuned"), "measured");
  EXPECT_EQ(Run()["fake/tuned"].configuration().at("tuned"), "cached");
}

TEST_F(CaseDriverTest, AChoiceThatDoesNotWorkIsForgotten) {
  TuningStore store(scratch_ + "/tuning.json", "device");
  tuning_ = &store;
  Implementations({"fake/tuned-wrong"});
  for (int i = 0; i < 2; ++i) {
    const v1::Result result = Run()["fake/tuned-wrong"];
    EXPECT_EQ(result.outcome(), v1::OUTCOME_WRONG_RESULT);
    EXPECT_EQ(result.configuration().at("tuned"), "measured");
  }
}

TEST_F(CaseDriverTest, WithoutAStoreItIsTunedEachTime) {
  Implementations({"fake/tuned"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Run()["fake/tuned"].configuration().at("tuned"), "measured");
  }
}

TEST_F(CaseDriverTest, ATunerThatCrashesCostsItsRowOnly) {
  Implementations({"fake/tuned-badly", "fake/fast"});
  auto results = Run();
  EXPECT_EQ(results["fake/tuned-badly"].outcome(), v1::OUTCOME_CRASHED);
  EXPECT_EQ(results["fake/tuned-badly"].reason(), "SIGABRT");
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK);
}

class LowerTest : public CaseDriverTest {
 protected:
  void Lower(const std::string& name, const std::vector<std::string>& lower) {
    v1::Fallback& fallback = *assign_.add_fallbacks();
    fallback.set_implementation(name);
    fallback.mutable_lower()->Assign(lower.begin(), lower.end());
  }
};

TEST_F(LowerTest, AVariantThatDoesNotTakeTheShapeGivesItsRowToTheNextLower) {
  Lower("fake/unsupported", {"fake/unsupported-too", "nobody/knows", "fake/half", "fake/fast"});
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"fake/unsupported"}, {"fake/unsupported", "fake/noisy"}}) {
    Implementations(names);
    auto results = Run();
    EXPECT_EQ(results.count("fake/unsupported"), 0u);
    ASSERT_EQ(results.count("fake/half"), 1u);
    const v1::Result& half = results["fake/half"];
    EXPECT_EQ(half.outcome(), v1::OUTCOME_OK) << half.message();
    EXPECT_EQ(half.configuration().at("instead_of"),
              "fake/unsupported: scripted NO_LAYOUT; fake/unsupported-too: scripted NO_LAYOUT");
    EXPECT_THAT(half.replay(), HasSubstr("--impl fake/half"));
  }
}

TEST_F(LowerTest, OneThatRunsAnywayIsNotRunTwice) {
  Lower("fake/unsupported", {"fake/fast"});
  Implementations({"fake/unsupported", "fake/fast"});
  auto results = Run();
  EXPECT_EQ(results["fake/unsupported"].outcome(), v1::OUTCOME_UNSUPPORTED);
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK);
}

TEST_F(LowerTest, WhereNoneTakesTheShapeTheRowSaysSo) {
  Lower("fake/unsupported", {"fake/unsupported-too"});
  Implementations({"fake/unsupported"});
  const v1::Result result = Run()["fake/unsupported-too"];
  EXPECT_EQ(result.outcome(), v1::OUTCOME_UNSUPPORTED);
  EXPECT_EQ(result.reason(), "NO_LAYOUT");
}

TEST_F(LowerTest, AnyOtherOutcomeStays) {
  Lower("fake/crash-prepare", {"fake/fast"});
  Implementations({"fake/crash-prepare"});
  EXPECT_EQ(Run()["fake/crash-prepare"].outcome(), v1::OUTCOME_CRASHED);
}

}  // namespace
}  // namespace kbench
