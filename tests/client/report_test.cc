// What stands on the screen and in the files: golden texts.
#include "client/output/report.h"

#include <algorithm>
#include <sstream>

#include "client/output/text_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using testing::EndedCase;
using testing::Event;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::OkRow;
using testing::Parse;

std::string Write(Format format, const std::string& rows) {
  std::ostringstream out;
  std::ostringstream err;
  Io io{out, err};
  const auto report = MakeReport(format, io);
  report->CaseEnded(Parse<Job>("name: \"jobs/k3f9x2ab\""), Parse<CaseStatus>(EndedCase(rows)));
  EXPECT_EQ(err.str(), "");
  return out.str();
}

std::size_t Widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

std::string FourRows() {
  return "results { is_baseline: true " + OkRow("cublas") + "} results {" +
         OkRow("cuda/naive",
               "comparison { baseline: \"cublas\" speedup: 0.052 low: 0.0518 high: 0.0522 }") +
         R"(} results { implementation: "cpu/naive" outcome: OUTCOME_SKIPPED reason: "TOO_LONG"
             estimate_seconds: 43.4 }
            results { implementation: "cuda/broken" outcome: OUTCOME_CRASHED reason: "SIGNAL"
             message: "the runner ended by signal 11 (Segmentation fault) while it was preparing; its last words are in the artifact runner-stderr.txt" })";
}

TEST(TableTest, Golden) {
  EXPECT_EQ(Write(Format::kTable, FourRows()),
            R"(matmul fp16 m=4096,n=4096,k=4096,layout=nn, cold, on gpu0 (NVIDIA H200)
implementation              time           rate               vs baseline   error  verdict
cublas          190.1 us +-0.21%  722.8 TFLOP/s                  baseline  2.1e-4  VALID
cuda/naive      190.1 us +-0.21%  722.8 TFLOP/s  0.0520x [0.0518, 0.0522]  2.1e-4  VALID
cpu/naive       SKIPPED: one launch would take about 43 s: too long
cuda/broken     CRASHED: the runner ended by signal 11 (Segmentation fault) while it was
                preparing; its last words are in the artifact runner-stderr.txt
)");
}

TEST(TableTest, ATableWithoutANumberSaysWhatToDo) {
  const std::string skipped =
      "results { implementation: \"cpu/naive\" outcome: OUTCOME_SKIPPED estimate_seconds: 43 }";
  const std::string unsupported =
      "results { implementation: \"cpu/onednn\" outcome: OUTCOME_UNSUPPORTED message: \"no\" }";
  EXPECT_THAT(Write(Format::kTable, skipped + unsupported),
              HasSubstr("Nothing was measured: take a smaller size, or give it more time with "
                        "--budget."));
  EXPECT_THAT(Write(Format::kTable, unsupported), HasSubstr("'kbench-client kernels' lists"));
  EXPECT_THAT(Write(Format::kTable, skipped + "results {" + OkRow("cublas") + "}"),
              Not(HasSubstr("Nothing was measured")));
}

TEST(TableTest, AProfileIsASentenceBeneathTheRows) {
  const std::string seen = Write(
      Format::kTable,
      "results {" + OkRow("cublas", "profile { sentence: \"limited by the tensor cores: 95 %\" }") +
          "} results {" + OkRow("cuda/mma", "profile { message: \"no profile: no ncu\" }") + "}");
  EXPECT_THAT(seen, HasSubstr("\ncublas: limited by the tensor cores: 95 %\n"));
  EXPECT_THAT(seen, HasSubstr("\ncuda/mma: no profile: no ncu\n"));
}

TEST(TableTest, NeverWiderThanNinetyColumns) {
  for (const std::string name :
       {"cublas", "cpu/openblas-via-fp32", "cuda/a-very-long-variant-name-of-the-future"}) {
    const std::string text = Write(
        Format::kTable,
        "results { is_baseline: true " + OkRow(name) + "} results {" +
            OkRow(name + "2", "comparison { baseline: \"x\" speedup: 0.52 low: 0.51 high: 0.53 }") +
            "} results { implementation: \"" + name +
            "\" outcome: OUTCOME_UNSUPPORTED message: \"" + std::string(60, 'w') + " " +
            std::string(60, 'w') + "\" }");
    EXPECT_LE(Widest(text), kTableWidth) << text;
  }
}

TEST(TableTest, TheVerdictOfAComparisonStandsWhereItFits) {
  const auto with = [](const std::string& name) {
    std::string row = OkRow(name,
                            "comparison { baseline: \"b\" speedup: 1.25 low: 1.24 high: 1.26 "
                            "verdict: \"faster\" message: \"other clocks\" }");
    row.replace(row.find("flops: 1.374e11"), 15, "flops: 1");  // its rate is in byte/s
    return Write(Format::kTable, "results {" + row + "}");
  };
  EXPECT_THAT(with("cublas"), HasSubstr("529.0 GB/s  1.25x [1.24, 1.26] faster  2.1e-4"));
  EXPECT_THAT(with("cublas"), HasSubstr("\ncublas against b: other clocks\n"));
  EXPECT_THAT(with("cpu/openblas-fp32"), HasSubstr("1.25x [1.24, 1.26]  2.1e-4"));
  EXPECT_LE(Widest(with("cpu/openblas-fp32")), kTableWidth);
}

TEST(TableTest, TheIntervalOfTheRatioGoesBeforeTheNameIsCut) {
  const std::string text = Write(
      Format::kTable,
      "results {" +
          OkRow("cpu/openblas-via-fp32", "comparison { speedup: 0.52 low: 0.51 high: 0.53 }") +
          "}");
  EXPECT_THAT(text, HasSubstr("cpu/openblas-via-fp32 "));
  EXPECT_THAT(text, HasSubstr("0.520x"));
  EXPECT_THAT(text, Not(HasSubstr("[0.510")));
}

TEST(TableTest, ASuspectNumberIsExplainedInPlainWords) {
  const std::string text = Write(Format::kTable, R"(results {
      implementation: "cublas" outcome: OUTCOME_OK verdict: VERDICT_SUSPECT
      verdict_reasons: "NOT_CONVERGED" verdict_reasons: "NOISY" verdict_reasons: "SOME_NEW_ONE"
      device_time { median: 1e-3 low: 0.987e-3 high: 1.013e-3 } is_baseline: true })");
  EXPECT_THAT(
      text,
      HasSubstr(
          "\ncublas SUSPECT: the interval is 1.30%, wider than the 0.50% asked for; the times "
          "scatter;\n  some new one\n"
          "The machine is noisy: run again when it is idle, or take --quick.\n"));
  EXPECT_LE(Widest(text), kTableWidth);
}

TEST(TableTest, TheWorkersOwnSentenceComesFirstAndAdviceOnceACase) {
  const std::string row = R"(results {
      outcome: OUTCOME_OK verdict: VERDICT_SUSPECT message: "it shook by +-7.0 %"
      verdict_reasons: "NOT_CONVERGED" verdict_reasons: "NOISY" device_time { median: 1e-3 }
      policy { target_ratio: 0.02 } implementation: )";
  const std::string text = Write(Format::kTable, row + "\"x\" }" + row + "\"y\" }");
  EXPECT_THAT(text, HasSubstr("\nx SUSPECT: it shook by +-7.0 %\ny SUSPECT: it shook by +-7.0 %\n"
                              "The machine is noisy: run again when it is idle.\n"));
}

// Every reason the worker gives has words of ours, and advice where something can be done.
TEST(TableTest, EveryReasonOfAVerdictHasWords) {
  struct Row {
    const char* reason;
    const char* verdict;
    const char* meaning;
    const char* advice;
  };
  const Row rows[] = {
      {"SIDE_STREAM", "SUSPECT", "went on working after the timed work was done", "stream it is"},
      {"CLOCK_CHANGED", "SUSPECT", "clock changed and nothing says why", "sets the device's clock"},
      {"MIG_SIBLINGS", "SUSPECT", "other slices of the same card", "other slices are idle"},
      {"FOREIGN_PROCESS", "SUSPECT", "another program used the device", "other program is gone"},
      {"FOREIGN_IDLE", "VALID", "had the device open and computed nothing", ""},
      {"AUTOCORRELATED", "VALID", "neighbouring samples resemble each other", ""},
      {"ECC_ERROR", "INVALID", "memory lost data", "out of use"},
      {"FASTER_THAN_ROOF", "INVALID", "faster than this device was ever measured", "too good"},
  };
  for (const Row& row : rows) {
    const std::string text =
        Write(Format::kTable,
              std::string("results { implementation: \"x\" outcome: OUTCOME_OK verdict: VERDICT_") +
                  row.verdict + " verdict_reasons: \"" + row.reason +
                  "\" device_time { median: 1e-3 } }");
    std::string one_line = text;
    std::replace(one_line.begin(), one_line.end(), '\n', ' ');
    for (auto at = one_line.find("   "); at != std::string::npos; at = one_line.find("   ")) {
      one_line.erase(at, 2);
    }
    EXPECT_THAT(one_line, HasSubstr(row.meaning)) << row.reason;
    EXPECT_THAT(one_line, HasSubstr(row.advice)) << row.reason;
  }
}

TEST(TableTest, AnOutcomeHasWordsAndAdvice) {
  const auto row = [](const char* outcome, const char* reason, const char* message) {
    return Write(Format::kTable, std::string("results { implementation: \"x\" outcome: OUTCOME_") +
                                     outcome + " reason: \"" + reason + "\" message: \"" + message +
                                     "\" }");
  };
  EXPECT_THAT(row("WRONG_RESULT", "SIDE_STREAM", ""),
              HasSubstr("WRONG_RESULT: it works on another stream, which its time does not hold\n"
                        "The implementation must do all of its work on the stream it is given.\n"));
  EXPECT_THAT(row("WRONG_RESULT", "PERSISTING_L2", ""),
              HasSubstr("it asks for cache lines that survive the flush\nTake the persisting"));
  const std::string graph = row("UNSUPPORTED", "NOT_CAPTURABLE", "the launch waits");
  EXPECT_THAT(graph,
              HasSubstr("UNSUPPORTED: the launch waits\nMeasure it with --mode cold or hot.\n"));
  EXPECT_THAT(graph, Not(HasSubstr("Nothing was measured")));
  EXPECT_THAT(row("INFRA", "FOREIGN_BUSY", "process 7 (python, user ann) uses 37 % of the device"),
              HasSubstr("INFRA: others use the device: process 7 (python, user ann) uses 37 % of\n"
                        "                the device\nRun again when they are done, or measure "
                        "beside them with --if-busy "
                        "run.\n"));
  EXPECT_THAT(row("CRASHED", "SIGABRT", "it ended by signal 6"), Not(HasSubstr("\nT")));
}

TEST(TableTest, AWrappedPercentageStaysWhole) {
  EXPECT_EQ(Wrap("about +-7.0 % more", 9, 2), "about\n  +-7.0 %\n  more");
}

TEST(TableTest, ACaseWithoutRowsSaysWhy) {
  std::ostringstream out;
  Io io{out, out};
  MakeReport(Format::kTable, io)
      ->CaseEnded({}, Parse<CaseStatus>(R"(spec { kernel: "sum" dtype: "fp32" size: "64Mi" }
                       state: JOB_STATE_FAILED reason: "POISON"
                       message: "the worker died twice while it measured this" )"));
  EXPECT_EQ(out.str(),
            "sum fp32 64Mi, cold\nFAILED: the worker died twice while it measured this\n");
}

TEST(JsonTest, EventsWithoutResultsThenOneLineARow) {
  std::ostringstream out;
  Io io{out, out};
  const auto report = MakeReport(Format::kJson, io);
  const auto status = Parse<CaseStatus>(EndedCase(FourRows()));
  auto event = Event("sequence: 3");
  *event.mutable_case_changed() = status;
  report->Event(Event("progress { phase: \"measure\" round: 3 }"));
  report->Event(event);
  report->Event(Event("ping: true"));
  report->CaseEnded({}, status);
  std::istringstream lines(out.str());
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 6U) << out.str();
  EXPECT_EQ(all[0], R"({"event":{"progress":{"phase":"measure","round":3}}})");
  EXPECT_THAT(all[1], HasSubstr(R"({"event":{"sequence":"3","case_changed":)"));
  EXPECT_THAT(all[1], Not(HasSubstr("results")));
  EXPECT_THAT(all[2], HasSubstr(R"({"result":{)"));
  EXPECT_THAT(all[2], HasSubstr(R"("median":0.0001901)"));
  EXPECT_THAT(all[5], HasSubstr("OUTCOME_CRASHED"));
}

// What was told of a case is corrected when it does not hold up among all cases of the job.
TEST(Report, AFindingThatDoesNotHoldUpIsToldAtTheEnd) {
  const Job job = Parse<Job>(R"(
      name: "jobs/k3f9x2ab"
      cases {
        spec { kernel: "sum" dtype: "fp32" size: "1Ki" }
        results { name: "results/k3f9x2ab-0-0" implementation: "a" is_baseline: true }
        results { name: "results/k3f9x2ab-0-1" implementation: "b" outcome: OUTCOME_OK
          comparison { baseline: "a" verdict: "inconclusive" reasons: "MANY_COMPARISONS"
            message: "slower by itself, but among 20 comparisons such a difference comes up by chance" } } })");
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kCsv, Format::kJson}) {
    std::ostringstream out, err;
    Io io{out, err};
    MakeReport(format, io)->JobEnded(job);
    const std::string text = format == Format::kCsv ? err.str() : out.str();
    EXPECT_THAT(text, HasSubstr("slower by itself, but among 20"));
    EXPECT_EQ(text.find("k3f9x2ab-0-0"), std::string::npos) << "the others were told already";
    if (format == Format::kCsv) {
      EXPECT_EQ(out.str(), "");
    }
  }
}

TEST(CsvTest, HeaderOnceQuotedAndEveryDigit) {
  std::ostringstream out;
  Io io{out, out};
  const auto report = MakeReport(Format::kCsv, io);
  const auto job = Parse<Job>("name: \"jobs/k3f9x2ab\"");
  const auto status = Parse<CaseStatus>(EndedCase(
      "results {" + OkRow("cublas") +
      R"(} results { implementation: "x" outcome: OUTCOME_CRASHED message: "a \"b\", c" })"));
  report->CaseEnded(job, status);
  report->CaseEnded(job, status);
  const std::string text = out.str();
  EXPECT_EQ(text.find("job,case"), text.rfind("job,case"));
  EXPECT_THAT(text, HasSubstr("k3f9x2ab,0,matmul,fp16,\"m=4096,n=4096,k=4096,layout=nn\",cold,gpu0,"
                              "cublas,OK,,VALID,,0.0001901,0.0001897,0.0001905,12,240,"));
  EXPECT_THAT(text, HasSubstr("\"a \"\"b\"\", c\",,,,\r\n"));
  // Every line has as many fields as the header: commas outside quotes.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    bool quoted = false;
    int commas = 0;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++commas;
    }
    EXPECT_EQ(commas, 31) << line;
  }
}

TEST(MarkdownTest, ARowForEveryImplementation) {
  const std::string text = Write(Format::kMarkdown, FourRows());
  EXPECT_THAT(text, HasSubstr("| implementation | time | rate | vs baseline | error | verdict |\n"
                              "|:--|--:|--:|--:|--:|:--|\n"
                              "| cublas | 190.1 us +-0.21% | 722.8 TFLOP/s | baseline | 2.1e-4 | "
                              "VALID |\n"));
  EXPECT_THAT(text, HasSubstr("| cpu/naive | one launch would take about 43 s: too long | - | - | "
                              "- | SKIPPED |\n"));
}

}  // namespace
}  // namespace kbench::client
