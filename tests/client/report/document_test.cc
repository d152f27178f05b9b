// The report as a reader gets it: pieces of Markdown, and a page that loads nothing.
#include "client/report/document.h"

#include <algorithm>
#include <regex>

#include "client/report/roi_document.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/report_samples.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SumByN;

std::vector<Result> Rows() {
  return SumByN({65536, 1048576, 67108864},
                {{"cuda/vectorized", {3e-6, 20e-6, 400e-6}, {9e-6, 26e-6, 406e-6}},
                 {"triton", {3e-6, 22e-6, 404e-6}, {45e-6, 40e-6, 434e-6}, {"launch-bound"}},
                 {"triton-aot", {3e-6, 22e-6, 404e-6}, {9e-6, 28e-6, 410e-6}}});
}

Document DocumentOf(const std::vector<Result>& rows) {
  const auto model = BuildRoi(rows, "");
  EXPECT_TRUE(model.ok()) << model.status();
  return RoiDocument(**model, {"kbench-client report roi --device gpu0", "", {"A note."}});
}

TEST(MarkdownTest, HasTheTablesOfTheEssay) {
  const std::string text = ToMarkdown(DocumentOf(Rows()));
  EXPECT_THAT(text, HasSubstr("# What abstractions cost on Test GPU\n"));
  EXPECT_THAT(text, HasSubstr("The essay measured one NVIDIA L4; this is Test GPU."));
  EXPECT_THAT(text, HasSubstr("* A note.\n"));
  EXPECT_THAT(text, HasSubstr("| sum fp32 2^26 | CUDA | 258.0 GB/s | 10.00 TB/s | 38.8x | - | "
                              "cuda/vectorized | another card |\n"));
  EXPECT_THAT(text, HasSubstr("| sum fp32 2^26 | torch | 254.0 GB/s | not measured | - | - | - | "
                              "not measured |\n"));
  EXPECT_THAT(text, HasSubstr("| sum | Triton fp32 against CUDA fp32 | 0.950x | 0.990x [0.990, "
                              "0.990] | triton / cuda/vectorized | not reproduced |\n"));
  EXPECT_THAT(text, HasSubstr("| sum fp32, by n | Triton against CUDA | between n=64Ki and n=1Mi |"
                              " between n=1Mi and n=64Mi | not up to n=64Mi |\n"));
  EXPECT_THAT(text, HasSubstr("| 1Mi | memory-bound | 20.00 us +-0.10% | 0.909x [0.909, 0.909] | "
                              "0.909x [0.909, 0.909] |\n"));
  EXPECT_THAT(text, HasSubstr("    kbench-client report roi --device gpu0\n"));
  EXPECT_THAT(text, HasSubstr("9 rows of 3 cases: 9 OK, 9 of them VALID."));
  EXPECT_THAT(text, Not(HasSubstr("<svg")));
}

TEST(MarkdownTest, EveryRowThatIsNotValidHasItsReason) {
  auto rows = Rows();
  rows[0].set_verdict(kbench::v1::VERDICT_SUSPECT);
  rows[0].add_verdict_reasons("NOISY");
  Result failed = Rows()[1];
  failed.set_name("results/aaaaaaaa-0-7");
  failed.set_implementation("torch");
  failed.set_outcome(kbench::v1::OUTCOME_COMPILE_ERROR);
  failed.set_reason("COMPILE_ERROR");
  failed.set_message("ptxas | said <no> to `this`");
  failed.clear_device_time();
  rows.push_back(failed);
  const std::string text = ToMarkdown(DocumentOf(rows));
  EXPECT_THAT(text, HasSubstr("10 rows of 3 cases: 9 OK, 8 of them VALID. The others, and why:"));
  EXPECT_THAT(text,
              HasSubstr("| sum fp32 n=65536 | cuda/vectorized | SUSPECT | the times scatter"));
  EXPECT_THAT(text, HasSubstr("| sum fp32 n=65536 | torch | COMPILE_ERROR | "
                              "ptxas \\| said &lt;no> to \\`this\\`"));
}

TEST(MarkdownTest, TextOfOthersMakesNoLinks) {
  Document document{"t", "", {{"s", "s", {Paragraph{"[x](http://y) [0.1, 0.2] \\ \x1b*"}}}}};
  EXPECT_THAT(ToMarkdown(document), HasSubstr("\n[x\\](http://y) [0.1, 0.2] \\\\ ?\\*\n"));
}

TEST(HtmlTest, LoadsNothingAndEscapesEverything) {
  auto rows = Rows();
  const std::string evil = "<script>alert('x')</script>\"&\x01";
  for (Result& row : rows) {
    row.mutable_environment()->set_device_name(evil);
    row.mutable_environment()->set_driver("</table>" + evil);
    (*row.mutable_environment()->mutable_settings())[evil] = evil;
    row.set_regime_reason(evil);
  }
  rows[2].set_implementation("triton-aot/<b>");
  rows[2].set_verdict(kbench::v1::VERDICT_SUSPECT);
  rows[2].set_message(evil);
  const std::string page = ToHtml(DocumentOf(rows));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;?"));
  EXPECT_THAT(page, HasSubstr("<svg "));
  const std::regex external("(src|href)=\"[^#]|@import|url\\(|<link|<iframe|<object");
  EXPECT_FALSE(std::regex_search(page, external));
  EXPECT_LT(page.size(), 1u << 20);
}

TEST(HtmlTest, DrawsThreePlots) {
  const std::string page = ToHtml(DocumentOf(Rows()));
  const std::regex svg("<svg ");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), svg), {}), 3);
  EXPECT_THAT(page, HasSubstr("<title>triton, n=1Mi: 0.909x [0.909, 0.909]</title>"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(HtmlTest, NumbersBeyondAllMeasureDoNoHarm) {
  auto rows = Rows();
  rows[1].mutable_device_time()->set_median(1e-300);
  rows[3].mutable_end_to_end_time()->set_high(1e300);
  rows[4].mutable_throughput()->set_flops_per_second(1e300);
  for (int round = 0; round < 8; ++round) {
    rows[7].mutable_device_time()->set_round_medians(round, 1e300);
  }
  const std::string page = ToHtml(DocumentOf(rows));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_LT(page.size(), 1u << 20);
}

TEST(HtmlTest, RowsWithoutANumberAreDrawnToo) {
  Result failed = testing::Made({});
  failed.set_outcome(kbench::v1::OUTCOME_CRASHED);
  failed.set_message("signal 11");
  failed.clear_device_time();
  const Document document = DocumentOf({failed});
  EXPECT_THAT(ToHtml(document), HasSubstr("signal 11"));
  EXPECT_THAT(ToMarkdown(document), HasSubstr("1 row of 1 case: 0 OK, 0 of them VALID."));
}

}  // namespace
}  // namespace kbench::client
