#include "kernels/catalog/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Expand(const std::string& text, std::size_t most = 1000) {
  auto sizes = ExpandSizes(text, most);
  EXPECT_TRUE(sizes.ok()) << text << ": " << (sizes.ok() ? "" : sizes.error().message);
  return sizes.ok() ? *sizes : std::vector<std::string>{};
}

TEST(ExpandSizes, ASingleSizeIsItself) {
  for (const char* text : {"4096", "2^26", "64Mi", "4096x4096x1024", "m=1,n=2,k=3,layout=tn",
                           "b=4,h=16,s=8192,d=128,causal", "8192,causal", "", "nonsense"}) {
    EXPECT_THAT(Expand(text), ElementsAre(text));
  }
}

TEST(ExpandSizes, ListsKeepWhatWasTyped) {
  EXPECT_THAT(Expand("256,512,1Ki"), ElementsAre("256", "512", "1Ki"));
  EXPECT_THAT(Expand("128x64,2^4"), ElementsAre("128x64", "2^4"));
  EXPECT_THAT(Expand("1024,2048,causal"), ElementsAre("1024", "2048,causal"));
  EXPECT_THAT(Expand("m=1,n=2,k=3;m=4,n=5,k=6"), ElementsAre("m=1,n=2,k=3", "m=4,n=5,k=6"));
  EXPECT_THAT(Expand("256;512"), ElementsAre("256", "512"));
  EXPECT_THAT(Expand("256,512;m=1,n=2,k=3"), ElementsAre("256", "512", "m=1,n=2,k=3"));
}

TEST(ExpandSizes, RangesMultiplyOrAdd) {
  EXPECT_THAT(Expand("1Ki..8Ki*2"), ElementsAre("1024", "2048", "4096", "8192"));
  EXPECT_THAT(Expand("100..300+100"), ElementsAre("100", "200", "300"));
  EXPECT_THAT(Expand("100..299+100"), ElementsAre("100", "200"));
  EXPECT_THAT(Expand("3..100*4"), ElementsAre("3", "12", "48"));
  EXPECT_THAT(Expand("7..7*2"), ElementsAre("7"));
  EXPECT_EQ(Expand("1Ki..64Mi*2").size(), 17u);
  EXPECT_THAT(Expand("5,1..4*2"), ElementsAre("5", "1", "2", "4"));
  EXPECT_THAT(Expand("1..2^62*2^61"), ElementsAre("1", "2305843009213693952"));
}

TEST(ExpandSizes, RangesInsideASizeGiveTheProduct) {
  EXPECT_THAT(Expand("m=1..64*4,n=4096,k=4096"),
              ElementsAre("m=1,n=4096,k=4096", "m=4,n=4096,k=4096", "m=16,n=4096,k=4096",
                          "m=64,n=4096,k=4096"));
  EXPECT_THAT(Expand("m=1..2*2,n=3..4+1,k=5,layout=tn"),
              ElementsAre("m=1,n=3,k=5,layout=tn", "m=1,n=4,k=5,layout=tn", "m=2,n=3,k=5,layout=tn",
                          "m=2,n=4,k=5,layout=tn"));
  EXPECT_THAT(Expand("1..2*2x8"), ElementsAre("1x8", "2x8"));
  EXPECT_THAT(Expand("512..1024*2,causal"), ElementsAre("512,causal", "1024,causal"));
}

TEST(ExpandSizes, TooManyAreCountedNotMade) {
  const std::pair<const char*, const char*> cases[] = {
      {"1..1001+1", "1001"},
      {"1..2^62+1", "4611686018427387904"},
      {"m=1..2^62+1,n=1..2^62+1,k=1..2^62+1", "more than 2^64"},
      {"1..2^62+1,1..2^62+1,1..2^62+1,1..2^62+1,1..2^62+1", "more than 2^64"},
  };
  for (const auto& [text, count] : cases) {
    auto sizes = ExpandSizes(text, 1000);
    ASSERT_FALSE(sizes.ok()) << text;
    EXPECT_EQ(sizes.error().field, "size");
    EXPECT_EQ(sizes.error().reason, "TOO_MANY_SIZES");
    EXPECT_THAT(sizes.error().message, HasSubstr(count)) << text;
    EXPECT_THAT(sizes.error().message, HasSubstr("1000"));
  }
  EXPECT_EQ(Expand("1..1000+1", 1000).size(), 1000u);
  EXPECT_FALSE(ExpandSizes("1,2,3", 2).ok());
}

TEST(ExpandSizes, BadRangesAreRefusedWithAReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"1..8", "does not say how it goes on"},
      {"8..1*2", "ends before it begins"},
      {"1..8*1", "never ends"},
      {"1..8*0", "zero"},
      {"1..8+0", "zero"},
      {"1..8*", "missing"},
      {"..8*2", "missing"},
      {"1..*2", "missing"},
      {"0..8*2", "zero"},
      {"-1..8*2", "negative"},
      {"a..b*2", "not a whole number"},
      {"1..2..3*2", "not a whole number"},
      {"1..99999999999999999999*2", "too large"},
      {"m=1..8,n=2,k=3", "does not say how it goes on"},
      {"1,,2", "empty size"},
      {",", "empty size"},
      {"1;", "empty size"},
  };
  for (const auto& [text, says] : cases) {
    auto sizes = ExpandSizes(text, 1000);
    ASSERT_FALSE(sizes.ok()) << text;
    EXPECT_EQ(sizes.error().field, "size");
    EXPECT_EQ(sizes.error().reason, "BAD_SIZE") << text;
    EXPECT_THAT(sizes.error().message, HasSubstr(says)) << text;
  }
}

}  // namespace
}  // namespace kbench
