#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog/sweep.h"

namespace kbench {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(ParseCount, ReadsWhatPeopleWrite) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"1", 1},
      {"4096", 4096},
      {"007", 7},
      {"2^26", 67108864},
      {"2^0", 1},
      {"10^3", 1000},
      {"1^999999999999", 1},
      {"3k", 3000},
      {"5M", 5000000},
      {"2G", 2000000000},
      {"4Ki", 4096},
      {"64Mi", 67108864},
      {"1Gi", 1073741824},
      {"2^10Ki", 1048576},
      {"2^62", std::int64_t{1} << 62},
      {"4611686018427387904", std::int64_t{1} << 62}};
  for (const auto& [text, value] : cases) {
    auto count = ParseCount(text);
    ASSERT_TRUE(count.ok()) << text << ": " << count.error().message;
    EXPECT_EQ(*count, value) << text;
  }
}

TEST(ParseCount, RefusesWhatIsNoCount) {
  for (const char* text :
       {"",        "0",    "00",  "-1",    "-",     "+1",    "abc",  "4096 ", " 4096",
        "4096abc", "1.5k", "1e6", "0x10",  "2^",    "^2",    "2^-1", "0^5",   "k",
        "4K",      "4ki",  "4m",  "2^2^2", "4096,", "1_000", "NaN",  "\x01"}) {
    auto count = ParseCount(text);
    ASSERT_FALSE(count.ok()) << text << " = " << *count;
    EXPECT_EQ(count.error().field, "size") << text;
    EXPECT_EQ(count.error().reason, "BAD_SIZE") << text;
    EXPECT_FALSE(count.error().message.empty()) << text;
    EXPECT_FALSE(count.error().nearest.empty()) << text;
  }
}

TEST(ParseCount, RefusesWhatIsTooLarge) {
  for (const char* text :
       {"2^63", "2^64", "4611686018427387905", "9223372036854775808", "18446744073709551616",
        "99999999999999999999999999999", "2^99999999999", "10^30", "2^99999999999999999999",
        "2^61Ki", "9999999999G", "4611686018427387904Ti"}) {
    auto count = ParseCount(text);
    ASSERT_FALSE(count.ok()) << text << " = " << *count;
    EXPECT_THAT(count.error().message, HasSubstr("too large")) << text;
    EXPECT_THAT(count.error().nearest, Contains("2^62")) << text;
  }
}

TEST(ParseCount, SuggestsWhatMayHaveBeenMeant) {
  EXPECT_EQ(ParseCount("0").error().nearest.front(), "1");
  EXPECT_THAT(ParseCount("0").error().message, HasSubstr("zero"));
  EXPECT_EQ(ParseCount("-4096").error().nearest.front(), "4096");
  EXPECT_THAT(ParseCount("-4096").error().nearest, Contains("1"));
  EXPECT_THAT(ParseCount("-4096").error().message, HasSubstr("negative"));
  EXPECT_EQ(ParseCount("64mi").error().nearest.front(), "64Mi");
  EXPECT_EQ(ParseCount("4K").error().nearest.front(), "4Ki");
  EXPECT_EQ(ParseCount("abc").error().nearest.front(), "1");
}

}  // namespace
}  // namespace kbench
