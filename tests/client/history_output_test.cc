// Cells, one cell's history, a cause and a report of epochs as text, in every format.
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "client/output/cause_text.h"
#include "client/output/cell_history.h"
#include "client/output/cell_plot.h"
#include "client/output/cell_states.h"
#include "client/output/cell_words.h"
#include "client/output/display_width.h"
#include "client/output/epoch_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Parse;
using ::testing::StartsWith;

constexpr double kNow = 1'700'000'600;

constexpr char kMatmul[] =
    R"(kernel: "matmul" dtype: "fp16" shape: "m=4096,n=4096,k=4096,layout=nn" mode: "cold" )";

constexpr char kConfirmed[] = R"(
  state: CONFIRMED message: "confirmed, slower again in each of 3 fresh sessions: 5.1 % slower"
  since { seconds: 1700000000 } newest: "results/new-0-0" newest_time { seconds: 1700000540 }
  seconds: 200e-6 low: 199e-6 high: 201e-6 change_ratio: 0.051 change_low: 0.042 change_high: 0.06 suspect: "results/sus-0-0"
  confirmations: "jobs/one" confirmations: "jobs/two" epoch: "e2"
  baseline { origin: "learned" result: "results/old-0-0" seconds: 190.3e-6 low: 190e-6 high: 190.6e-6
             results: 12 noise_ratio: 0.004 epoch: "e2" since { seconds: 1699990000 } } )";

class HistoryOutput : public ::testing::Test {
 protected:
  HistoryOutput() {
    setenv("TZ", "UTC", 1);
    tzset();
  }

  static kbench::v1::CellState State(const std::string& implementation, const std::string& more) {
    return Parse<kbench::v1::CellState>(std::string("cell { ") + kMatmul + "implementation: \"" +
                                        implementation + "\" device: \"gpu0\" } " + more);
  }

  // What `print` writes; the lines of a table are at most 90 wide.
  template <typename Print>
  std::string Text(Format format, Print print) {
    std::ostringstream out;
    std::ostringstream err;
    Io io{out, err};
    print(io, format);
    notes_ = err.str();
    std::istringstream lines(out.str());
    for (std::string line; format == Format::kTable && std::getline(lines, line);) {
      EXPECT_LE(DisplayWidth(line), 90u) << line;
    }
    return out.str();
  }

  std::string Cells(Format format, const std::vector<kbench::v1::CellState>& cells) {
    return Text(format, [&](Io& io, Format as) { PrintCells(io, as, cells, kNow, "no cells"); });
  }

  std::string notes_;  // on standard error
};

TEST_F(HistoryOutput, TypedSizeIsTheShortestThatMeansTheShape) {
  const auto size = [](const std::string& cell) {
    return TypedSize(Parse<kbench::v1::CellKey>(cell));
  };
  EXPECT_EQ(size(kMatmul), "4096");
  EXPECT_EQ(size(R"(kernel: "matmul" dtype: "fp16" shape: "m=64,n=128,k=32,layout=nn")"),
            "64x128x32");
  EXPECT_EQ(size(R"(kernel: "matmul" dtype: "fp16" shape: "m=64,n=64,k=64,layout=tn")"),
            "m=64,n=64,k=64,layout=tn");
  EXPECT_EQ(size(R"(kernel: "sum" dtype: "fp32" shape: "n=1048576")"), "1Mi");
  EXPECT_EQ(size(R"(kernel: "sum" dtype: "fp32" shape: "n=1048577")"), "1048577");
  EXPECT_EQ(size(R"(kernel: "unheard of" dtype: "fp32" shape: "n=1")"), "n=1");
}

TEST_F(HistoryOutput, StatesAreReadInAnyCase) {
  for (const std::string& word : RegressionWords()) {
    EXPECT_NE(ParseRegression(word), kbench::v1::REGRESSION_STATE_UNSPECIFIED) << word;
  }
  EXPECT_EQ(ParseRegression("Confirmed"), kbench::v1::CONFIRMED);
  EXPECT_EQ(ParseRegression("sick"), kbench::v1::REGRESSION_STATE_UNSPECIFIED);
}

TEST_F(HistoryOutput, CellsStandInBlocksWithTheirDoubtBeneath) {
  const auto learning = State("triton", R"(state: LEARNING message: "learning: 2 of 5 results"
    newest_time { seconds: 1700000000 } seconds: 210e-6)");
  EXPECT_EQ(Cells(Format::kTable, {State("cublas", kConfirmed), learning}),
            R"(matmul fp16 m=4096,n=4096,k=4096,layout=nn, cold
implementation  device  state                  time                change        newest
cublas          gpu0    CONFIRMED  200.0 us +-0.50%  +5.1% [+4.2%, +6.0%]      60 s ago
triton          gpu0    LEARNING           210.0 us                     -  10.0 min ago
)"
            "cublas on gpu0: confirmed, slower again in each of 3 fresh sessions: 5.1 % slower\n");
  EXPECT_EQ(Cells(Format::kTable, {}), "no cells\n");
  EXPECT_EQ(Cells(Format::kJson, {}), "");
}

TEST_F(HistoryOutput, CellsInTheOtherFormats) {
  const auto cell = State("cublas", kConfirmed);
  EXPECT_THAT(Cells(Format::kJson, {cell, cell}),
              AllOf(StartsWith(R"({"cell":{"cell":{"kernel":"matmul")"),
                    HasSubstr(R"("state":"CONFIRMED")"), HasSubstr("}\n{\"cell\":")));
  EXPECT_THAT(Cells(Format::kCsv, {cell}),
              AllOf(StartsWith("kernel,dtype,shape,mode,implementation,device,state,since,"),
                    HasSubstr("\r\nmatmul,fp16,\"m=4096,n=4096,k=4096,layout=nn\",cold,cublas,"
                              "gpu0,CONFIRMED,2023-11-14T22:13:20Z,new-0-0,"),
                    HasSubstr(",0.0002,0.000199,0.000201,,,,0.051,0.042,0.06,learned,,2023-11-"
                              "14T19:26:40Z,old-0-0,")));
  EXPECT_THAT(Cells(Format::kMarkdown, {cell}),
              AllOf(StartsWith("| case | implementation | device | state | time |"),
                    HasSubstr("|:--|:--|:--|:--|--:|--:|--:|\n"),
                    HasSubstr("| CONFIRMED | 200.0 us +-0.50% | +5.1% [+4.2%, +6.0%] | "),
                    HasSubstr("\nmatmul fp16 m=4096,n=4096,k=4096,layout=nn, cold: cublas on")));
}

TEST_F(HistoryOutput, ACellThatWasNeverValidShowsItsNewestResult) {
  const auto cell = State("triton", R"(state: LEARNING message: "learning: no VALID result yet"
    latest: "results/sus-0-0" latest_time { seconds: 1700000540 } latest_verdict: "SUSPECT")");
  const std::string text = Cells(Format::kTable, {cell});
  EXPECT_THAT(text, HasSubstr("LEARNING     -       -  60 s ago\n"));
  EXPECT_THAT(text,
              HasSubstr("triton on gpu0: no VALID result yet; the newest, sus-0-0, is SUSPECT"));
  EXPECT_THAT(Cells(Format::kCsv, {cell}), HasSubstr(",sus-0-0,2023-11-14T22:22:20Z,SUSPECT,"));
}

TEST_F(HistoryOutput, NoChangeIsANumberAndNoneIsNot) {
  auto cell = State("cublas", kConfirmed);
  cell.set_state(kbench::v1::NONE);
  cell.set_change_ratio(0);
  EXPECT_EQ(ChangeText(cell), "+0.0% [+4.2%, +6.0%]");
  EXPECT_THAT(Cells(Format::kCsv, {cell}), HasSubstr(",0,0.042,0.06,learned,"));
  cell.set_state(kbench::v1::INCOMPARABLE);
  EXPECT_EQ(ChangeText(cell), "-");
  EXPECT_THAT(Cells(Format::kCsv, {cell}), HasSubstr(",0.000201,,,,,,,learned,"));
}

TEST_F(HistoryOutput, PinnedBaselines) {
  const auto pinned = State("cublas", R"(state: NONE baseline { origin: "pinned" by: "ana"
    since { seconds: 1700000000 } result: "results/old-0-0" seconds: 190e-6 low: 189e-6
    high: 191e-6 })");
  EXPECT_EQ(Text(Format::kTable,
                 [&](Io& io, Format as) { PrintBaselines(io, as, {pinned}, kNow, "none"); }),
            R"(matmul fp16 m=4096,n=4096,k=4096,layout=nn, cold
implementation  device          baseline  result   by         pinned  state
cublas          gpu0    190.0 us +-0.53%  old-0-0  ana  10.0 min ago  NONE
)");
  EXPECT_EQ(BaselineText(pinned.baseline()),
            "pinned by ana at 2023-11-14 22:13: old-0-0, 190.0 us +-0.53%");
  EXPECT_EQ(BaselineText({}), "");
}

kbench::v1::HistoryPoint Point(double seconds, double low, double high) {
  kbench::v1::HistoryPoint point;
  point.set_seconds(seconds);
  point.set_low(low);
  point.set_high(high);
  return point;
}

TEST_F(HistoryOutput, ThePlotHasAColumnForEveryTime) {
  const CellPlot plot({Point(100e-6, 90e-6, 110e-6), Point(120e-6, 0, 0)}, 105e-6, 31);
  EXPECT_EQ(plot.Header(), "90.00 us               120.0 us");
  EXPECT_EQ(plot.Row(Point(100e-6, 90e-6, 110e-6)), "----------o----|-----");
  EXPECT_EQ(plot.Row(Point(120e-6, 0, 0)), "               |              o");
  EXPECT_EQ(plot.Row(Point(0, 0, 0)), "") << "it has no time";
  EXPECT_EQ(plot.Row(Point(1, 0, 0)).size(), 31u) << "what lies outside stands at the edge";
  const CellPlot flat({Point(1e-6, 0, 0)}, 0, 9);
  EXPECT_EQ(flat.Row(Point(1e-6, 0, 0)), "    o");
  EXPECT_EQ(flat.Header(), "") << "both ends do not fit";
}

class OneHistory : public HistoryOutput {
 protected:
  OneHistory() {
    *history_.mutable_state() = State("cublas", kConfirmed);
    for (int i = 0; i < 4; ++i) {
      auto& point = *history_.add_points();
      point = Point(190e-6 + 5e-6 * i, 189e-6 + 5e-6 * i, 191e-6 + 5e-6 * i);
      point.set_result("results/r" + std::to_string(i) + "-0-0");
      point.mutable_time()->set_seconds(1'700'000'000 + 60 * i);
      point.set_verdict(i == 1 ? "SUSPECT" : "VALID");
      point.set_epoch(i < 2 ? "0123456789ab" : "ba9876543210");
    }
    *history_.add_epochs() =
        Parse<kbench::v1::Epoch>(R"(id: "0123456789ab" since { seconds: 1700000000 })");
    *history_.add_epochs() = Parse<kbench::v1::Epoch>(
        R"(id: "ba9876543210" since { seconds: 1700000120 } changed: "driver 1 -> 2")");
    *history_.add_changes() = Parse<kbench::v1::ChangePoint>(
        R"(time { seconds: 1700000120 } result: "results/r2-0-0" ratio: 1.025 p_value: 0.004
           new_epoch: true sentence: "environment: driver 1 -> 2")");
  }
  std::string Print(Format format, int most) {
    return Text(format, [&](Io& io, Format as) { PrintHistory(io, as, history_, most); });
  }
  kbench::v1::History history_;
};

TEST_F(OneHistory, IsToldFromItsStateToItsChanges) {
  const std::string text = Print(Format::kTable, 3);
  EXPECT_THAT(
      text,
      AllOf(StartsWith("matmul fp16 m=4096,n=4096,k=4096,layout=nn, cublas, cold, on gpu0:"),
            HasSubstr("CONFIRMED since\n  2023-11-14 22:13\nconfirmed, slower again"),
            HasSubstr("\nchange against the baseline: +5.1% [+4.2%, +6.0%]\n"),
            HasSubstr("\nbaseline: learned from 12 results since 2023-11-14 19:26: 190.3 us +-"),
            HasSubstr("\nmeasured again by jobs/one, jobs/two\n")));
  EXPECT_THAT(text, AllOf(HasSubstr("2023-11-14 22:14  r1-0-0  195.0 us +-0.51%  SUSPECT"),
                          HasSubstr("VALID    ba9876543210  "), Not(HasSubstr("r0-0-0"))));
  EXPECT_THAT(text, HasSubstr("1 result is older: -n 4 shows all\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("epoch 0123456789ab since 2023-11-14 22:13: the first that"),
                          HasSubstr("epoch ba9876543210 since 2023-11-14 22:15: driver 1 -> 2\n"),
                          HasSubstr("changed at 2023-11-14 22:15 with r2-0-0: +2.5%, a new epoch; "
                                    "environment: driver")));
  EXPECT_THAT(Print(Format::kTable, 0), AllOf(HasSubstr("r0-0-0"), Not(HasSubstr("older"))));
}

TEST_F(OneHistory, WithoutResultsOrChangesNothingIsMadeUp) {
  history_.clear_points();
  history_.clear_epochs();
  history_.clear_changes();
  history_.mutable_state()->clear_baseline();
  history_.mutable_state()->clear_since();
  EXPECT_THAT(Print(Format::kTable, 0), AllOf(Not(HasSubstr("median")), Not(HasSubstr("baseline:")),
                                              Not(HasSubstr("epoch")), Not(HasSubstr("1970"))));
}

TEST_F(OneHistory, InTheOtherFormats) {
  EXPECT_THAT(Print(Format::kJson, 2),
              AllOf(StartsWith("{\"history\":{\"state\":"), Not(HasSubstr("results/r1-0-0")),
                    HasSubstr("\"changes\":[{")));
  const std::string csv = Print(Format::kCsv, 0);
  EXPECT_THAT(csv, HasSubstr("cublas,gpu0,2023-11-14T22:13:20Z,r0-0-0,"));
  EXPECT_THAT(csv, HasSubstr("VALID,ba9876543210,1.025,0.004,environment: driver 1 -> 2\r\n"));
  EXPECT_THAT(csv, HasSubstr("SUSPECT,0123456789ab,,,\r\n"));
  EXPECT_THAT(Print(Format::kMarkdown, 0),
              AllOf(StartsWith("**matmul fp16"), HasSubstr("| time | result | median |"),
                    HasSubstr("\nchanged at 2023-11-14 22:15 with r2-0-0")));
}

TEST_F(HistoryOutput, ACauseBeginsWithItsSentence) {
  const auto cause = Parse<kbench::v1::Cause>(
      std::string("a: \"results/a-0-0\" b: \"results/b-0-0\" cell { ") + kMatmul +
      R"(implementation: "cublas" device: "gpu0" }
      time_ratio: 0.061 cycles_ratio: 0.002 verdict: "CLOCK"
      sentence: "clock, not the kernel: +6.1 % time, +0.2 % cycles"
      differences { name: "sm clock" kind: "device" a: "1755 MHz" b: "1650 MHz" ratio: 0.94 }
      differences { name: "driver" kind: "environment" a: "580.95.05" b: "580.159.04" })");
  const auto print = [&](Io& io, Format as) { PrintCause(io, as, cause); };
  EXPECT_EQ(Text(Format::kTable, print),
            R"(clock, not the kernel: +6.1 % time, +0.2 % cycles
matmul fp16 m=4096,n=4096,k=4096,layout=nn, cublas, cold, on gpu0: from a-0-0 to b-0-0

what      kind          ratio  before     after
sm clock  device       0.940x  1755 MHz   1650 MHz
driver    environment       -  580.95.05  580.159.04
)");
  EXPECT_THAT(Text(Format::kJson, print),
              AllOf(StartsWith("{\"cause\":{"), HasSubstr("\"verdict\":\"CLOCK\"")));
  EXPECT_THAT(Text(Format::kCsv, print),
              AllOf(HasSubstr("CLOCK,0.061,0.002,\"clock, not the kernel: +6.1 % time, +0.2 % "
                              "cycles\",sm clock,device,1755 MHz,1650 MHz,0.94\r\n"),
                    HasSubstr(",driver,environment,580.95.05,580.159.04,\r\n")));
  EXPECT_THAT(Text(Format::kMarkdown, print),
              AllOf(StartsWith("**clock, not the kernel"), HasSubstr("| sm clock | device |")));
}

TEST_F(HistoryOutput, ACauseWithoutDifferencesSaysSoAndKeepsItsLine) {
  auto cause = Parse<kbench::v1::Cause>(
      R"(a: "results/a-0-0" b: "results/b-0-0" verdict: "NO_CHANGE" sentence: "no change")");
  cause.set_sentence("no \x1b[31mchange");
  const auto print = [&](Io& io, Format as) { PrintCause(io, as, cause); };
  EXPECT_THAT(Text(Format::kTable, print),
              AllOf(HasSubstr("nothing else that is recorded differs"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(Text(Format::kCsv, print), HasSubstr("\r\na-0-0,b-0-0,"));
  EXPECT_THAT(Text(Format::kMarkdown, print), Not(HasSubstr("\x1b")));
}

TEST_F(HistoryOutput, ACauseOfTwoCellsIsHeadedAsNeitherOfThem) {
  const auto cause = Parse<kbench::v1::Cause>(
      std::string("a: \"results/a-0-0\" b: \"results/b-0-0\" cell { ") + kMatmul +
      R"(implementation: "triton" device: "gpu0" } sentence: "two cells"
         differences { name: "implementation" kind: "cell" a: "cublas" b: "triton" })");
  const std::string text =
      Text(Format::kTable, [&](Io& io, Format as) { PrintCause(io, as, cause); });
  EXPECT_THAT(text, StartsWith("two cells\nfrom a-0-0 to b-0-0\n"));
}

class Epochs : public HistoryOutput {
 protected:
  Epochs() {
    report_ = Parse<kbench::v1::EpochReport>(
        std::string(R"(device: "gpu0" only_before: 3 only_after: 1 geometric_mean: 1.021
          before { id: "aaa" since { seconds: 1700000000 }
                   environment { key: "driver" value: "1" } environment { key: "os" value: "x" } }
          after { id: "ccc" since { seconds: 1700086400 } changed: "cublas 13.0 -> 13.1"
                  environment { key: "driver" value: "2" } environment { key: "os" value: "x" }
                  environment { key: "locked clocks" value: "1.5 GHz" } }
          rows { before_seconds: 190e-6 after_seconds: 200e-6 ratio: 1.053 low: 1.04 high: 1.06
                 verdict: "slower" cell { )") +
        kMatmul + R"(implementation: "cublas" device: "gpu0" } }
          rows { before_seconds: 100e-6 after_seconds: 99e-6 ratio: 0.99 verdict: "inconclusive"
                 cell { kernel: "sum" dtype: "fp32" shape: "n=1048576" mode: "hot"
                        implementation: "cub" device: "gpu0" } })");
  }
  std::string Print(Format format, bool neighbours = true) {
    return Text(format, [&](Io& io, Format as) { PrintEpochs(io, as, report_, neighbours); });
  }
  kbench::v1::EpochReport report_;
};

TEST_F(Epochs, ATableSaysWhatChangedAndWhatItMeans) {
  EXPECT_EQ(Print(Format::kTable),
            R"(gpu0: from epoch aaa (since 2023-11-14 22:13) to ccc (since 2023-11-15 22:13)
changed: cublas 13.0 -> 13.1

cell                            before     after      after / before  verdict
matmul fp16 4096 cublas cold  190.0 us  200.0 us  1.05x [1.04, 1.06]  slower
sum fp32 1Mi cub hot          100.0 us  99.00 us              0.990x  inconclusive
2 cells: 1 slower, 1 inconclusive; the time is 1.02x of the one before (geometric mean)
3 cells only before: not measured again since
1 cell only after: not measured before
)");
}

TEST_F(Epochs, OfEpochsThatAreNotNeighboursAllThatDiffersIsSaid) {
  EXPECT_THAT(Print(Format::kTable, false),
              HasSubstr("\nchanged: driver 1 -> 2; locked clocks none -> 1.5 GHz\n"));
}

TEST_F(Epochs, InTheOtherFormats) {
  EXPECT_THAT(Print(Format::kJson), StartsWith("{\"epochs\":{\"device\":\"gpu0\""));
  EXPECT_THAT(
      Print(Format::kCsv),
      AllOf(HasSubstr(",cold,cublas,gpu0,aaa,ccc,0.00019,0.0002,1.053,1.04,1.06,slower\r\n"),
            HasSubstr(",hot,cub,gpu0,aaa,ccc,0.0001,"), HasSubstr(",0.99,,,inconclusive")));
  EXPECT_THAT(notes_, HasSubstr("geometric mean"));
  EXPECT_THAT(Print(Format::kMarkdown),
              AllOf(HasSubstr("| matmul fp16 4096 cublas cold | 190.0 us | 200.0 us | 1.05x"),
                    HasSubstr("\n3 cells only before")));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(Epochs, WithoutACellInBothNoMeanIsMadeUp) {
  report_.clear_rows();
  report_.clear_geometric_mean();
  EXPECT_THAT(Print(Format::kTable),
              AllOf(HasSubstr("no cell was measured in both\n3 cells only before"),
                    Not(HasSubstr("geometric"))));
}

}  // namespace
}  // namespace kbench::client
