#include "client/report/line_count.h"

#include "client/report/lines_of_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench::client {
namespace {

using ::testing::ElementsAre;

int Cpp(const std::string& text) { return CountLines(text, Language::kCpp); }
int Python(const std::string& text) { return CountLines(text, Language::kPython); }

TEST(LineCountTest, BlanksAndCommentsOfCppDoNotCount) {
  EXPECT_EQ(Cpp(""), 0);
  EXPECT_EQ(Cpp("int a;\n\n   \n// b\nint c;  // d"), 2);
  EXPECT_EQ(Cpp("/* a\n b\n*/ int c;\n/* d */\n"), 1);
  EXPECT_EQ(Cpp("const char* a = \"// no comment /*\";\nint b;"), 2);
  EXPECT_EQ(Cpp("char q = '\"'; // x\nint n = 1'000; /* y\n*/"), 2);
  EXPECT_EQ(Cpp("auto s = R\"(\n// text\n\n)\";\n"), 3) << "a raw text is code where it has any";
  EXPECT_EQ(Cpp("char e = '\\'';\n// x\n"), 1);
}

TEST(LineCountTest, DocstringsOfPythonAreComments) {
  EXPECT_EQ(Python("\"\"\"What it is.\n\nAnd \"more\".\n\"\"\"\nimport x  # why\n\n# a\n"), 1);
  EXPECT_EQ(Python("def f():\n    \"\"\"One line.\"\"\"\n    return \"#\"\n"), 2);
  EXPECT_EQ(Python("x = \"\"\"a\nb\"\"\"\n"), 2) << "a value, no docstring";
  EXPECT_EQ(Python("x = 'it''s'  # y\n"), 1);
}

TEST(LineCountTest, NamesTellTheLanguage) {
  EXPECT_EQ(LanguageOf("a/sum.py"), Language::kPython);
  EXPECT_EQ(LanguageOf("a/sum.cu"), Language::kCpp);
}

TEST(LineCountTest, DeviceHeadersAreThoseOfOurs) {
  EXPECT_THAT(DeviceHeaders("#include <cub/cub.cuh>\n#include \"kernels/cuda/tma.cuh\"\n"
                            "#include \"kernels/cuda/dtypes.h\"\n  // #include \"x.cuh\"\n"),
              ElementsAre("kernels/cuda/tma.cuh"));
}

TEST(LinesOfCodeTest, TheClientKnowsWhatWasCounted) {
  EXPECT_GT(AllImplementationLines().size(), 50u);
  for (const ImplementationLines& one : AllImplementationLines()) {
    EXPECT_GT(one.own, 2) << one.kernel << " " << one.implementation;
  }
  const auto* wgmma = LinesOf("matmul", "cuda/wgmma");
  ASSERT_NE(wgmma, nullptr);
  EXPECT_GT(wgmma->headers, wgmma->own / 10) << "most of it lies in headers";
  const auto* aot = LinesOf("sum", "triton-aot");
  ASSERT_NE(aot, nullptr);
  EXPECT_EQ(aot->own, LinesOf("sum", "triton@torch211")->own) << "the same file";
  EXPECT_EQ(LinesOf("sum", "mojo"), nullptr);
}

}  // namespace
}  // namespace kbench::client
