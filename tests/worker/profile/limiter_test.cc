// Which figure names the limiter, and the sentence about it.
#include "worker/profile/limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench::profile {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

constexpr char kTime[] = "gpu__time_duration.sum";
constexpr char kDram[] = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr char kL2[] = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr char kTensor[] = "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active";
constexpr char kIssue[] = "smsp__issue_active.avg.pct_of_peak_sustained_active";
constexpr char kShared[] =
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed";
constexpr char kWavefronts[] = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
constexpr char kConflicts[] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";

std::string Stall(const std::string& name) {
  return "smsp__average_warps_issue_stalled_" + name + "_per_issue_active.ratio";
}

Limiter Of(std::map<std::string, double> metrics) { return NameLimiter({"K", std::move(metrics)}); }

TEST(Limiter, DeviceMemoryWithItsBandwidth) {
  const Limiter limiter =
      Of({{kDram, 92.4}, {kL2, 61}, {kTime, 100e-6}, {"dram__bytes.sum", 430e6}});
  EXPECT_EQ(limiter.name, "dram");
  EXPECT_EQ(limiter.sentence, "limited by device memory: 92 % of its peak, 4300 GB/s");
}

TEST(Limiter, AStreamThroughTheL2IsLimitedByTheMemoryBehindIt) {
  EXPECT_EQ(Of({{kDram, 84}, {kL2, 87}}).name, "dram");
  EXPECT_EQ(Of({{kDram, 70}, {kL2, 87}}).name, "l2");  // hits do more than misses
  EXPECT_EQ(Of({{kDram, 66}, {kL2, 71}}).name, "l2");  // neither is saturated but the cache
}

// As measured on an H200: cublas's fp16 matmul of 4096.
TEST(Limiter, TensorCores) {
  const Limiter limiter = Of({{kTensor, 94.82}, {kIssue, 32.66}, {kDram, 25}, {kL2, 60}});
  EXPECT_EQ(limiter.name, "tensor");
  EXPECT_EQ(limiter.sentence, "limited by the tensor cores: 95 % of its peak");
}

// Products of doubles leave the pipe of the half types idle: without a look at their own, kernels
// that fill it would be called waiting.
TEST(Limiter, DoublesHavePipesOfTheirOwn) {
  const char* dmma = "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_active";
  const char* fp64 = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active";
  EXPECT_EQ(Of({{dmma, 91}, {kTensor, 0}, {kIssue, 20}, {kDram, 25}}).sentence,
            "limited by the tensor cores: 91 % of its peak");
  EXPECT_EQ(Of({{fp64, 88}, {kIssue, 45}, {kDram, 10}}).name, "fp64");
  EXPECT_EQ(Of({{fp64, 88}, {kIssue, 45}, {kDram, 10}}).sentence,
            "limited by the fp64 pipe: 88 % of its peak");
  EXPECT_EQ(Of({{fp64, 40}, {kDram, 30}}).name, "latency");
  EXPECT_THAT(MetricsFor("sm_90"), IsSupersetOf({std::string(dmma), std::string(fp64)}));
}

TEST(Limiter, BankConflictsAreNamedWhereSharedMemoryIsTheBusiest) {
  const Limiter limiter = Of({{kShared, 88}, {kWavefronts, 1000}, {kConflicts, 750}, {kDram, 20}});
  EXPECT_EQ(limiter.name, "bank-conflicts");
  EXPECT_EQ(limiter.sentence,
            "limited by shared memory with bank conflicts: 88 % of its peak; 75 % of its "
            "shared-memory wavefronts are bank conflicts");
  EXPECT_EQ(Of({{kShared, 88}, {kWavefronts, 1000}, {kConflicts, 10}}).name, "shared-memory");
}

TEST(Limiter, ManyConflictsAreMentionedAnyway) {
  EXPECT_THAT(Of({{kDram, 90}, {kWavefronts, 4}, {kConflicts, 2}}).sentence,
              HasSubstr("50 % of its shared-memory wavefronts are bank conflicts"));
}

TEST(Limiter, IssueSlots) { EXPECT_EQ(Of({{kIssue, 85}, {kDram, 40}}).name, "issue"); }

TEST(Limiter, LatencyWithWhatWarpsWaitFor) {
  const Limiter limiter = Of({{kDram, 30},
                              {"sm__warps_active.avg.pct_of_peak_sustained_active", 25},
                              {Stall("long_scoreboard"), 6},
                              {Stall("barrier"), 2},
                              {Stall("selected"), 1},
                              {Stall("not_selected"), 7}});
  EXPECT_EQ(limiter.name, "latency");
  EXPECT_EQ(limiter.sentence,
            "limited by latency: no unit is busy, the busiest, device memory, is at 30 % of its "
            "peak, with 25 % of the warps a multiprocessor holds; warps wait most for data from "
            "global memory (long_scoreboard, 38 % of their time)");
}

TEST(Limiter, NothingMeasuredNamesNothing) {
  EXPECT_EQ(Of({}).name, "");
  EXPECT_EQ(Of({{kTime, 1e-6}}).sentence, "");
}

TEST(Limiter, TheLongestKernelOfALaunch) {
  double share = 0;
  const std::vector<KernelRow> rows = {{"a", {{kTime, 1e-6}}}, {"b", {{kTime, 3e-6}}}};
  EXPECT_EQ(Longest(rows, &share)->name, "b");
  EXPECT_DOUBLE_EQ(share, 0.75);
  EXPECT_EQ(Longest({}, &share), nullptr);
}

TEST(Limiter, OnlyHopperHasTheStallOfItsProducts) {
  EXPECT_THAT(MetricsFor("sm_90"), Contains(Stall("gmma")));
  EXPECT_THAT(MetricsFor("sm_89"), Not(Contains(Stall("gmma"))));
}

}  // namespace
}  // namespace kbench::profile
