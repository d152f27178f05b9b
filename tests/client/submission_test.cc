#include "client/submission.h"

#include "client/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SubmissionTest, ListsBecomeTheirProduct) {
  const auto spec = BuildSpec({.kernels = "sum,softmax",
                               .dtypes = "fp32,fp16",
                               .sizes = {"1Ki..4Ki*2", "512"},
                               .implementations = "cpu/naive, cublas"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_EQ(spec->cases_size(), 16);
  EXPECT_EQ(spec->cases(0).ShortDebugString(), R"(kernel: "sum" dtype: "fp32" size: "1024")");
  EXPECT_EQ(spec->cases(2).size(), "4096");
  EXPECT_EQ(spec->cases(3).size(), "512");
  EXPECT_EQ(spec->cases(4).dtype(), "fp16");
  EXPECT_EQ(spec->cases(15).kernel(), "softmax");
  EXPECT_THAT(spec->implementations(), ElementsAre("cpu/naive", "cublas"));
  EXPECT_FALSE(spec->has_priority());
  EXPECT_FALSE(spec->has_queue_timeout());
  EXPECT_EQ(spec->policy().target_ratio(), 0);
}

TEST(SubmissionTest, WhatIsWrongIsLeftToTheCoordinator) {
  const auto spec = BuildSpec({.kernels = "mtmul", .dtypes = "fp61", .sizes = {" -5", "nonsense"}});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->cases(0).size(), "-5");
  EXPECT_EQ(spec->cases(1).size(), "nonsense");
}

TEST(SubmissionTest, PolicyAndLabels) {
  const auto spec = BuildSpec({.kernels = "sum",
                               .dtypes = "fp32",
                               .sizes = {"1"},
                               .target = "2%",
                               .margin = "0.5%",
                               .if_busy = "fail",
                               .budget = "90s",
                               .queue_timeout = "10m",
                               .seed = 7,
                               .profile = true,
                               .priority = 0,
                               .priority_class = "ci",
                               .labels = {"team=a=b", "empty="}});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_DOUBLE_EQ(spec->policy().target_ratio(), 0.02);
  EXPECT_DOUBLE_EQ(spec->policy().margin_ratio(), 0.005);
  EXPECT_TRUE(spec->policy().profile());
  EXPECT_EQ(spec->policy().if_busy(), "fail");
  EXPECT_EQ(spec->policy().case_budget().seconds(), 90);
  EXPECT_EQ(spec->policy().seed(), 7U);
  EXPECT_EQ(spec->queue_timeout().seconds(), 600);
  EXPECT_TRUE(spec->has_priority());
  EXPECT_EQ(spec->priority_class(), "ci");
  EXPECT_EQ(spec->labels().at("team"), "a=b");
  EXPECT_EQ(spec->labels().at("empty"), "");
}

std::string LineOf(const Submission& submission) {
  const auto spec = BuildSpec(submission);
  return spec.ok() ? "no error" : ErrorLines(spec.status()).front();
}

TEST(SubmissionTest, WhatCannotBeExpandedIsToldInOneLine) {
  Submission good{.kernels = "sum", .dtypes = "fp32", .sizes = {"1"}};
  Submission bad = good;
  bad.sizes = {"1..1000000+1"};
  EXPECT_THAT(LineOf(bad), HasSubstr("size: "));
  EXPECT_THAT(LineOf(bad), HasSubstr("1000000"));
  bad = good;
  bad.sizes = {"8..2"};
  EXPECT_THAT(LineOf(bad), HasSubstr("size: "));
  bad = good;
  bad.kernels = "a,b,c";
  bad.sizes = {"1..9000+1"};
  EXPECT_THAT(LineOf(bad), HasSubstr("27000 cases"));
  bad = good;
  bad.target = "half";
  EXPECT_EQ(LineOf(bad), "target: 'half' is not a precision; write 0.5% or 0.005");
  for (const char* margin : {"small", "0", "-1%", "1%%", "nan"}) {
    bad = good;
    bad.margin = margin;
    EXPECT_EQ(LineOf(bad),
              "margin: '" + std::string(margin) + "' is not a margin; write 1% or 0.01");
  }
  bad = good;
  bad.budget = "-3s";
  EXPECT_EQ(LineOf(bad), "budget: '-3s' is not a duration; write 500ms, 60s, 10m, 1h or 7d");
  bad = good;
  bad.max_age = "24";
  EXPECT_EQ(LineOf(bad), "max-age: '24' has no unit; write 24s, 24m, 24h or 24d");
  bad.max_age = "1000000h";
  EXPECT_EQ(LineOf(bad), "max-age: '1000000h' is longer than 10950 days, the most there can be");
  bad = good;
  bad.labels = {"team"};
  EXPECT_EQ(LineOf(bad), "label: 'team' is not a label; write key=value");
}

}  // namespace
}  // namespace kbench::client
