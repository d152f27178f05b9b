// history, why, baseline and report epoch: what they ask for, what they choose among several cells,
// and what they say of wrong words. How they print: history_output_test.cc.
#include <algorithm>
#include <sstream>

#include "client/commands/cell_choice.h"
#include "client/output/display_width.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Parse;
using ::testing::SizeIs;

constexpr char kSum[] = "n=1048576";

kbench::v1::CellState Cell(const std::string& implementation, const std::string& mode,
                           const std::string& device, const std::string& more = "state: NONE",
                           const std::string& shape = kSum) {
  return Parse<kbench::v1::CellState>(
      R"(cell { kernel: "sum" dtype: "fp32" shape: ")" + shape + R"(" implementation: ")" +
      implementation + R"(" mode: ")" + mode + R"(" device: ")" + device +
      R"(" } newest: "results/new-0-0" newest_time { seconds: 1700000000 } seconds: 1e-4 )" + more);
}

class HistoryVerbs : public ::testing::Test {
 protected:
  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    Io io{out_, err_};
    Interrupt interrupt;
    const int code = fake_.Run(arguments, io, interrupt);
    const bool table = std::find(arguments.begin(), arguments.end(), "-o") == arguments.end();
    std::istringstream lines(out_.str());
    for (std::string line; table && std::getline(lines, line);) {
      EXPECT_LE(DisplayWidth(line), 90u) << line;
    }
    return code;
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  testing::FakeCoordinator fake_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(HistoryVerbs, HistoryReadsAllPagesAndPassesItsFilters) {
  fake_.history.cells = {Cell("a/one", "cold", "gpu0"), Cell("a/two", "cold", "gpu0"),
                         Cell("b", "cold", "gpu0"), Cell("b", "hot", "gpu1"),
                         Cell("b", "steady", "gpu1")};
  EXPECT_EQ(Run({"history"}), 0) << err();
  EXPECT_THAT(fake_.history.listed, SizeIs(3)) << "pages of two";
  EXPECT_THAT(out(), AllOf(HasSubstr("sum fp32 n=1048576, cold\n"), HasSubstr("a/two"),
                           HasSubstr("sum fp32 n=1048576, steady\n")));
  fake_.history.listed.clear();
  EXPECT_EQ(Run({"history", "sum", "fp32", "1Mi", "--on", "gpu1", "--mode", "hot", "--state",
                 "none,SUSPECTED"}),
            0)
      << err();
  const auto& request = fake_.history.listed.at(0);
  EXPECT_EQ(request.filter().kernel(), "sum");
  EXPECT_EQ(request.filter().dtype(), "fp32");
  EXPECT_EQ(request.filter().shape(), kSum) << "as it is stored, not as it was typed";
  EXPECT_EQ(request.filter().device(), "gpu1");
  EXPECT_EQ(request.filter().mode(), "hot");
  EXPECT_FALSE(request.pinned_only());
  ASSERT_EQ(request.states_size(), 2);
  EXPECT_EQ(request.states(1), kbench::v1::SUSPECTED);
  EXPECT_EQ(Run({"history", "--device", "gpu0"}), 0) << "the name that other verbs have for it";
  EXPECT_EQ(fake_.history.listed.back().filter().device(), "gpu0");
  EXPECT_EQ(Run({"history", "--pinned"}), 0);
  EXPECT_TRUE(fake_.history.listed.back().pinned_only());
  EXPECT_EQ(out(), "no cells\n");
}

TEST_F(HistoryVerbs, OneCellIsShownOverTimeAndSeveralAsRows) {
  fake_.history.cells = {Cell("a/one", "cold", "gpu0"), Cell("a/two", "cold", "gpu0"),
                         Cell("b", "hot", "gpu0")};
  fake_.history.history = Parse<kbench::v1::History>(R"(
    state { cell { kernel: "sum" dtype: "fp32" shape: "n=1048576" implementation: "b" mode: "hot"
                   device: "gpu0" } state: LEARNING message: "learning: 1 of 5" })");
  EXPECT_EQ(Run({"history", "sum", "fp32", "1Mi"}), 0) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("a/one"), HasSubstr("a/two"), HasSubstr("--impl")));
  EXPECT_THAT(fake_.history.got, IsEmpty());
  EXPECT_EQ(Run({"history", "sum", "fp32", "1Mi", "--impl", "a"}), 0) << "a family";
  EXPECT_THAT(out(), AllOf(HasSubstr("a/one"), HasSubstr("a/two"), Not(HasSubstr("hot"))));
  EXPECT_EQ(Run({"history", "sum", "fp32", "1Mi", "--mode", "hot"}), 0) << err();
  ASSERT_THAT(fake_.history.got, SizeIs(1));
  EXPECT_EQ(fake_.history.got[0].cell().implementation(), "b");
  EXPECT_EQ(fake_.history.got[0].cell().device(), "gpu0");
  EXPECT_EQ(fake_.history.got[0].most_points(), 200) << "change points need more than is shown";
  EXPECT_THAT(out(), HasSubstr("learning: 1 of 5"));
  EXPECT_EQ(Run({"history", "sum", "fp32", "--mode", "hot"}), 0);
  EXPECT_THAT(fake_.history.got, SizeIs(1)) << "without a size it is a list, whatever it holds";
  EXPECT_EQ(Run({"history", "sum", "fp32", "1Mi", "--impl", "b", "-n", "900"}), 0);
  EXPECT_EQ(fake_.history.got[1].most_points(), 900);
  EXPECT_EQ(Run({"history", "-n", "2"}), 0);
  EXPECT_THAT(out(), AllOf(HasSubstr("a/two"), Not(HasSubstr("hot")), HasSubstr("1 more")));
}

TEST_F(HistoryVerbs, ANameGoesBeforeItsFamilyAndAnEnvironmentIsNotAnother) {
  EXPECT_TRUE(MeansImplementation("", "torch"));
  EXPECT_TRUE(MeansImplementation("torch", "torch/flash"));
  EXPECT_TRUE(MeansImplementation("torch@t211", "torch/flash@t211"));
  EXPECT_FALSE(MeansImplementation("torch", "torch@t211"));
  EXPECT_FALSE(MeansImplementation("torch/flash", "torch"));
  EXPECT_FALSE(MeansImplementation("tor", "torch"));
  fake_.history.cells = {Cell("torch", "cold", "gpu0"), Cell("torch/compile", "cold", "gpu0")};
  EXPECT_EQ(Run({"history", "sum", "--impl", "torch", "-o", "csv"}), 0);
  EXPECT_THAT(out(), AllOf(HasSubstr(",torch,gpu0,"), Not(HasSubstr("torch/compile"))));
}

TEST_F(HistoryVerbs, WhatIsNotRecordedIsSaidWithWhatIs) {
  EXPECT_EQ(Run({"history"}), 0);
  EXPECT_THAT(out(), HasSubstr("no cells yet: they come with results at default precision"));
  EXPECT_EQ(Run({"history", "sum", "fp32", "1Mi"}), 2);
  EXPECT_THAT(err(), AllOf(HasSubstr("nothing is recorded of sum fp32 n=1048576"),
                           HasSubstr("nothing is recorded at all yet")));
  fake_.history.cells = {Cell("x", "cold", "gpu1", "state: NONE", "n=4096"),
                         Cell("x", "cold", "gpu0")};
  EXPECT_EQ(Run({"history", "sum", "fp32", "2Mi", "--on", "gpu1"}), 2);
  EXPECT_EQ(err(),
            "kbench-client: nothing is recorded of sum fp32 n=2097152 on gpu1; there is sum fp32 "
            "4096 x cold on gpu1, sum fp32 1Mi x cold on gpu0\n");
  EXPECT_EQ(Run({"history", "--on", "gpu7"}), 2);
  EXPECT_THAT(err(), HasSubstr("nothing is recorded on gpu7; there is"));
  EXPECT_EQ(Run({"history", "sum", "fp32", "1Mi", "--state", "confirmed"}), 0)
      << "the cell is known, and not in that state";
  EXPECT_EQ(out(), "no cells\n");
}

TEST_F(HistoryVerbs, WrongWordsAreNamedBeforeAnybodyIsAsked) {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string words;
  };
  const std::vector<Wrong> all = {
      {{"history", "som"}, "kernel: there is no kernel 'som'"},
      {{"history", "sum", "fp61"}, "dtype: kernel sum has no dtype 'fp61'"},
      {{"history", "sum", "fp32", "0"}, "size: "},
      {{"history", "sum", "fp32", "1Mi", "more"}, "history: takes KERNEL DTYPE SIZE, not 4 words"},
      {{"history", "--mode", "warm"}, "mode: there is no mode 'warm'; take cold, hot"},
      {{"history", "--state", "sick"}, "state: there is no state 'sick'; take learning, none"},
      {{"history", "-n", "0"}, "0 is outside 1 to 5000"},
      {{"history", "--on", " "}, "--on"},
      {{"history", "-o", "yaml"}, "take table, json, csv, markdown"},
      {{"why", "sum"}, "why: takes KERNEL DTYPE SIZE or two results, not 1 word"},
      {{"why", "sum", "fp32"}, "sum is no name of a result"},
      {{"why", "a-0-0", "results/a-0-0"}, "the same result twice"},
      {{"why", "a-0-0", "b-0-0", "--impl", "x"}, "--impl goes with KERNEL DTYPE SIZE"},
      {{"why", "som", "fp32", "1"}, "kernel: there is no kernel 'som'"},
      {{"baseline", "keep"}, "baseline: take pin, list or drop, not keep"},
      {{"baseline", "pin", "sum", "fp32"}, "baseline: pin takes KERNEL DTYPE SIZE, not 2 words"},
      {{"baseline", "drop"}, "baseline: drop takes KERNEL DTYPE SIZE, not 0 words"},
      {{"baseline", "drop", "sum", "fp32", "1", "--result", "a-0-0"}, "--result goes with pin"},
      {{"baseline", "pin", "sum", "fp32", "1", "--result", "newest"}, "newest is none"},
      {{"report", "epoch"}, "epoch takes a device: report epoch gpu0"},
      {{"report", "epoch", "gpu0", "--jobs", "a"}, "--jobs goes with roi, not with epoch"},
      {{"report", "roi", "--pinned"}, "--pinned goes with epoch, not with roi"},
      {{"report", "roi", "gpu0"}, "DEVICE goes with epoch, not with roi"},
      {{"report", "roi", "-o", "csv"}, "-o goes with epoch, not with roi"},
      {{"report", "era"}, "there is no report era; take roi or epoch"}};
  for (const Wrong& one : all) {
    EXPECT_EQ(Run(one.arguments), 2) << one.words;
    EXPECT_THAT(err(), HasSubstr(one.words));
    const std::string lines = err();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
  }
  EXPECT_THAT(fake_.history.listed, IsEmpty());
  EXPECT_THAT(fake_.history.asked, IsEmpty());
  EXPECT_THAT(fake_.history.compared, IsEmpty());
}

TEST_F(HistoryVerbs, WhyTakesTheOneInDoubtThenTheColdOneElseListsThem) {
  fake_.history.cause.set_sentence("clock, not the kernel");
  fake_.history.cells = {Cell("a", "cold", "gpu0"), Cell("a", "hot", "gpu0")};
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi"}), 0) << err();
  EXPECT_EQ(fake_.history.asked.at(0).cell().mode(), "cold");
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi", "--mode", "hot"}), 0) << err();
  EXPECT_EQ(fake_.history.asked.at(1).cell().mode(), "hot");
  fake_.history.cells = {Cell("a", "cold", "gpu0"), Cell("b", "cold", "gpu0"),
                         Cell("b", "cold", "gpu1")};
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi"}), 2);
  EXPECT_EQ(err(),
            "kbench-client: sum fp32 1Mi has 3 cells: a cold on gpu0, b cold on gpu0, b cold on "
            "gpu1; say which with --impl, --on\n");
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi", "--impl", "b"}), 2);
  EXPECT_THAT(err(), AllOf(HasSubstr("has 2 cells"), HasSubstr("say which with --on\n")));
  fake_.history.cells[1] = Cell("b", "cold", "gpu0", "state: CONFIRMED");
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi"}), 0) << err();
  EXPECT_EQ(fake_.history.asked.at(2).cell().implementation(), "b");
  EXPECT_EQ(fake_.history.asked.at(2).cell().device(), "gpu0");
  fake_.history.cells[0] = Cell("a", "cold", "gpu0", "state: SUSPECTED");
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi"}), 2);
  EXPECT_THAT(err(), HasSubstr("has 2 cells: a cold on gpu0, b cold on gpu0"));
  fake_.history.cells = {Cell("a", "cold", "gpu0"),
                         Cell("a", "steady", "gpu0", "state: CONFIRMED")};
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi"}), 0) << err();
  EXPECT_EQ(fake_.history.asked.back().cell().mode(), "steady")
      << "doubt goes before the usual mode";
  fake_.history.why_status = MakeError(absl::StatusCode::kFailedPrecondition,
                                       "sum has no baseline yet", {.reason = "NO_BASELINE"});
  EXPECT_EQ(Run({"why", "sum", "fp32", "1Mi", "--impl", "a"}), 2);
  EXPECT_EQ(err(), "kbench-client: sum has no baseline yet\n");
}

TEST_F(HistoryVerbs, WhyOfTwoResultsGoesByTheirNames) {
  fake_.history.cause.set_sentence("no change");
  EXPECT_EQ(Run({"why", "old-0-0", "results/new-1-2"}), 0) << err();
  ASSERT_THAT(fake_.history.asked, SizeIs(1));
  EXPECT_EQ(fake_.history.asked[0].a(), "results/old-0-0");
  EXPECT_EQ(fake_.history.asked[0].b(), "results/new-1-2");
  EXPECT_FALSE(fake_.history.asked[0].has_cell());
  EXPECT_THAT(fake_.history.listed, IsEmpty());
}

TEST_F(HistoryVerbs, PinAndDropTellWhichCell) {
  fake_.history.cells = {Cell("a", "cold", "gpu0"),
                         Cell("b", "cold", "gpu0", R"(state: NONE baseline { origin: "pinned" })")};
  fake_.history.state = Cell("a", "cold", "gpu0", R"(state: NONE message: "pinned by ana"
    baseline { origin: "pinned" by: "ana" result: "results/new-0-0" seconds: 1e-4 low: 9.9e-5
               high: 1.01e-4 since { seconds: 1700000000 } })");
  EXPECT_EQ(Run({"baseline", "pin", "sum", "fp32", "1Mi"}), 2)
      << "one is pinned, that says nothing";
  EXPECT_THAT(err(), HasSubstr("say which with --impl\n"));
  EXPECT_EQ(Run({"baseline", "pin", "sum", "fp32", "1Mi", "--impl", "a"}), 0) << err();
  EXPECT_EQ(fake_.history.pinned.at(0).cell().implementation(), "a");
  EXPECT_EQ(fake_.history.pinned.at(0).result(), "");
  EXPECT_THAT(out(), AllOf(HasSubstr("sum fp32 n=1048576, a, cold, on gpu0: pinned by ana at 20"),
                           HasSubstr(": new-0-0, 100.0 us\n  +-1.00%\n")));
  fake_.history.state = Cell("b", "cold", "gpu0", R"(state: LEARNING message: "dropped")");
  EXPECT_EQ(Run({"baseline", "drop", "sum", "fp32", "1Mi"}), 0) << err();
  EXPECT_EQ(fake_.history.dropped.at(0).cell().implementation(), "b") << "the only pinned one";
  EXPECT_THAT(out(), HasSubstr("no pinned baseline any more\ndropped\n"));
  EXPECT_EQ(Run({"baseline", "list", "sum"}), 0);
  EXPECT_TRUE(fake_.history.listed.back().pinned_only());
  EXPECT_THAT(out(), AllOf(HasSubstr("\nb "), Not(HasSubstr("\na "))));
  fake_.history.status = absl::NotFoundError("sum b has no pinned baseline");
  EXPECT_EQ(Run({"baseline", "drop", "sum", "fp32", "1Mi", "--impl", "b"}), 2);
}

TEST_F(HistoryVerbs, DroppingWhereNothingIsPinnedSaysSo) {
  fake_.history.cells = {Cell("a", "cold", "gpu0"), Cell("b", "cold", "gpu0")};
  EXPECT_EQ(Run({"baseline", "drop", "sum", "fp32", "1Mi"}), 2);
  EXPECT_THAT(err(),
              HasSubstr("sum fp32 1Mi has no pinned baseline; `kbench-client baseline list`"));
  EXPECT_THAT(fake_.history.dropped, IsEmpty());
}

TEST_F(HistoryVerbs, AResultSaysWhichCellIsPinned) {
  fake_.results.results = {Parse<kbench::v1::Result>(
      R"(name: "results/old-0-1" implementation: "a/one" device: "gpu1"
         case { kernel: "sum" dtype: "fp32" shape: "n=1048576" })")};
  const std::vector<std::string> pin = {"baseline", "pin",      "sum",    "fp32",
                                        "1Mi",      "--result", "old-0-1"};
  EXPECT_EQ(Run(pin), 0) << err();
  ASSERT_THAT(fake_.history.pinned, SizeIs(1));
  EXPECT_EQ(fake_.history.pinned[0].result(), "results/old-0-1");
  EXPECT_EQ(fake_.history.pinned[0].cell().implementation(), "a/one");
  EXPECT_EQ(fake_.history.pinned[0].cell().device(), "gpu1");
  EXPECT_EQ(fake_.history.pinned[0].cell().mode(), "cold");
  for (const auto& [option, value] :
       {std::pair("--impl", "b"), {"--on", "gpu0"}, {"--mode", "hot"}}) {
    auto other = pin;
    other.insert(other.end(), {option, value});
    EXPECT_EQ(Run(other), 2) << option;
    EXPECT_THAT(err(), HasSubstr("result: old-0-1 is of sum fp32 1Mi a/one cold on gpu1"));
  }
  EXPECT_EQ(Run({"baseline", "pin", "sum", "fp32", "2Mi", "--result", "old-0-1"}), 2);
  EXPECT_EQ(Run({"baseline", "pin", "sum", "fp32", "1Mi", "--result", "gone-0-1"}), 2);
  EXPECT_THAT(err(), HasSubstr("there is no result results/gone-0-1"));
  EXPECT_THAT(fake_.history.pinned, SizeIs(1));
}

TEST_F(HistoryVerbs, ReportEpochPassesWhatItIsAskedFor) {
  fake_.history.epochs = Parse<kbench::v1::EpochReport>(
      R"(device: "gpu0" before { id: "aaa" } after { id: "bbb" changed: "driver 1 -> 2" })");
  EXPECT_EQ(Run({"report", "epoch", "gpu0", "--pinned"}), 0) << err();
  EXPECT_THAT(
      out(), AllOf(HasSubstr("changed: driver 1 -> 2"), HasSubstr("no cell was measured in both")));
  EXPECT_EQ(Run({"report", "epoch", "gpu0", "--before", "aaa", "--after", "bbb"}), 0);
  EXPECT_EQ(fake_.history.compared.at(0).device(), "gpu0");
  EXPECT_TRUE(fake_.history.compared[0].pinned_only());
  EXPECT_EQ(fake_.history.compared.at(1).before(), "aaa");
  EXPECT_EQ(fake_.history.compared[1].after(), "bbb");
  fake_.history.status = absl::NotFoundError("gpu0 has one environment");
  EXPECT_EQ(Run({"report", "epoch", "gpu0"}), 2);
  EXPECT_EQ(err(), "kbench-client: gpu0 has one environment\n");
}

}  // namespace
}  // namespace kbench::client
