#include "worker/daemon/sendable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench {
namespace {

v1::AttemptResult Result() {
  v1::AttemptResult result;
  result.mutable_id()->set_job("jobs/a");
  result.mutable_id()->set_epoch(7);
  v1::Result* row = result.add_results();
  for (const auto& [name, bytes] : {std::pair("log.txt", 1000), {"code.sass", 60'000}}) {
    v1::Artifact* artifact = result.add_artifacts();
    artifact->set_name(name);
    artifact->set_content(std::string(static_cast<std::size_t>(bytes), 'x'));
    row->add_artifacts(name);
  }
  return result;
}

TEST(Sendable, WhatIsSmallStaysAsItIs) {
  v1::AttemptResult result = Result();
  const std::string before = result.SerializeAsString();
  EXPECT_TRUE(MakeSendable(&result));
  EXPECT_EQ(result.SerializeAsString(), before);
}

TEST(Sendable, TheLargestArtifactsGoFirst) {
  v1::AttemptResult result = Result();
  EXPECT_FALSE(MakeSendable(&result, 50'000));
  ASSERT_EQ(result.artifacts_size(), 1);
  EXPECT_EQ(result.artifacts(0).name(), "log.txt");
  EXPECT_THAT(result.results(0).artifacts(), ::testing::ElementsAre("log.txt"));
  EXPECT_TRUE(result.infra_error().empty());
}

TEST(Sendable, RowsThatAreTooLargeThemselvesAreAFault) {
  v1::AttemptResult result = Result();
  result.mutable_results(0)->set_message(std::string(5000, 'm'));
  EXPECT_FALSE(MakeSendable(&result, 4000));
  EXPECT_EQ(result.id().epoch(), 7);
  EXPECT_THAT(result.infra_error(), ::testing::HasSubstr("at most 4000"));
  EXPECT_EQ(result.results_size(), 0);
}

TEST(Sendable, TextThatIsNotUtf8IsAFault) {
  v1::AttemptResult result = Result();
  result.mutable_results(0)->set_message("caf\xe9");
  EXPECT_FALSE(MakeSendable(&result));
  EXPECT_THAT(result.infra_error(), ::testing::HasSubstr("not UTF-8"));
  v1::AttemptResult read;
  EXPECT_TRUE(read.ParseFromString(result.SerializeAsString()));
}

}  // namespace
}  // namespace kbench
