#include "kernels/triton_aot/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace kbench::aot {
namespace {

using ::testing::HasSubstr;

Names ParseNames(const std::string& text) {
  Names names;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    names[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
  return names;
}

// What Python's evaluator says: expression_vectors.py writes the file.
TEST(Expression, AgreesWithPython) {
  std::ifstream file(KBENCH_EXPRESSION_VECTORS);
  int read = 0;
  for (std::string line; std::getline(file, line); ++read) {
    const std::size_t value_at = line.rfind(" | "), names_at = line.rfind(" | ", value_at - 1);
    ASSERT_NE(names_at, std::string::npos) << line;
    const std::string expected = line.substr(value_at + 3);
    const auto value = Evaluate(line.substr(0, names_at),
                                ParseNames(line.substr(names_at + 3, value_at - names_at - 3)));
    EXPECT_EQ(value.ok() ? std::to_string(*value) : "error", expected)
        << line << (value.ok() ? "" : "\n" + value.error());
  }
  EXPECT_GT(read, 250);
}

TEST(Expression, SaysWhatIsWrong) {
  const Names names = {{"m", 3}, {"s", INT64_MAX}};
  EXPECT_THAT(Evaluate("m // n", names).error(), HasSubstr("names 'n'; there are: m, s"));
  EXPECT_THAT(Evaluate("m // (m - 3)", names).error(), HasSubstr("divides by 0"));
  EXPECT_THAT(Evaluate("m m", names).error(), HasSubstr("'m' is not understood"));
  EXPECT_THAT(Evaluate("f(m, 1)", names).error(), HasSubstr("'f' is no function"));
  for (const char* large :
       {"s + 1", "0 - s - 2", "s * 2", "(0 - s - 1) // (0 - 1)", "99999999999999999999"}) {
    EXPECT_THAT(Evaluate(large, names).error(), HasSubstr("64 bits")) << large;
  }
}

}  // namespace
}  // namespace kbench::aot
