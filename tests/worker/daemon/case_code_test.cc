// Device code kept as artifacts: which cells send it, how often, and its disassembly.
#include "tests/worker/daemon/case_driver_fixture.h"

namespace kbench {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CaseCodeTest : public CaseDriverTest {
 protected:
  void SetUp() override {
    CaseDriverTest::SetUp();
    facts_.device.set_architecture("sm_90");
    code_ = &memory_;
    assign_.mutable_id()->set_job("jobs/k3f9x2ab");
  }
  CodeMemory memory_;
};

TEST_F(CaseCodeTest, CodeAndItsDisassemblyGoWithTheResult) {
  disassembler_ = Script("cuobjdump", "for a; do last=$a; done; echo \"$@\"; cat \"$last\"\n");
  Implementations({"fake/coded"});
  const v1::Result result = Run().at("fake/coded");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_THAT(result.artifacts(),
              ElementsAre("samples-fake_coded.json", "log-fake_coded.txt", "fake_coded.cubin",
                          "fake_coded.ptx", "fake_coded.sass"));
  EXPECT_EQ(Find("fake_coded.cubin")->content(), "bytes of the cubin");
  EXPECT_EQ(Find("fake_coded.cubin")->media_type(), "application/x-cubin");
  EXPECT_EQ(Find("fake_coded.ptx")->content(), "bytes of the ptx");
  EXPECT_THAT(Find("fake_coded.sass")->content(),
              testing::MatchesRegex("--dump-sass --function _Z4Fakev .*code.cubin\n"
                                    "bytes of the cubin"));
  EXPECT_EQ(result.configuration().at("code"), "scripted: not all");
}

TEST_F(CaseCodeTest, ADisassemblerThatFailsCostsOnlyTheSass) {
  disassembler_ = Script("cuobjdump", "echo no such architecture >&2; exit 3\n");
  Implementations({"fake/coded"});
  const v1::Result result = Run().at("fake/coded");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_NE(Find("fake_coded.cubin"), nullptr);
  EXPECT_EQ(Find("fake_coded.sass"), nullptr);
}

TEST_F(CaseCodeTest, LaterCasesOfTheJobNameWhatTheFirstSent) {
  Implementations({"fake/coded"});
  Run();
  assign_.mutable_id()->set_case_index(7);
  const v1::Result second = Run().at("fake/coded");
  EXPECT_EQ(Find("fake_coded.ptx"), nullptr);
  EXPECT_THAT(second.artifacts(), Contains("artifacts/k3f9x2ab-0-fake_coded.ptx"));
  EXPECT_THAT(second.artifacts(), Contains("artifacts/k3f9x2ab-0-fake_coded.cubin"));
  memory_.Forget();  // another job
  Run();
  EXPECT_NE(Find("fake_coded.ptx"), nullptr);
}

TEST_F(CaseCodeTest, CodeThatIsMadeAtRunTimeIsKnownByItsDigest) {
  Implementations({"fake/coded-anew"});
  Run();
  assign_.mutable_case_()->set_size("128");
  Run();
  EXPECT_NE(Find("fake_coded-anew.ptx"), nullptr) << "another code under the same name";
  Run();
  EXPECT_EQ(Find("fake_coded-anew.ptx"), nullptr);
}

TEST_F(CaseCodeTest, WhatWasDisassembledOnceIsKnown) {
  disassembler_ = Script("cuobjdump", "echo run >> \"$0.runs\"; echo text\n");
  Implementations({"fake/coded"});
  Run();
  memory_.Forget();  // another job
  Run();
  EXPECT_EQ(Find("fake_coded.sass")->content(), "text\n");
  EXPECT_EQ(std::filesystem::file_size(disassembler_ + ".runs"), 4u) << "it ran once";
}

TEST_F(CaseCodeTest, WhatWasNotStoredIsSentAgain) {
  Implementations({"fake/coded"});
  cancel_.Cancel(CancelToken::Why::kShutdown);
  Run();
  EXPECT_EQ(memory_.Find(" _Z4Fakev"), nullptr);
}

TEST_F(CaseCodeTest, ACrashWhileCollectingCostsNoNumbers) {
  Implementations({"fake/crash-collect", "fake/fast"});
  const auto results = Run();
  const v1::Result& result = results.at("fake/crash-collect");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_GT(result.device_time().median(), 0);
  EXPECT_THAT(result.configuration().at("code"), HasSubstr("did not give it"));
  EXPECT_EQ(results.at("fake/fast").outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(results.at("fake/fast").configuration().count("code"), 0u);
}

TEST_F(CaseCodeTest, ACpuIsNotAsked) {
  facts_.device.set_kind("cpu");
  Implementations({"fake/coded"});
  EXPECT_THAT(Run().at("fake/coded").artifacts(), Each(Not(HasSubstr("ptx"))));
}

}  // namespace
}  // namespace kbench
