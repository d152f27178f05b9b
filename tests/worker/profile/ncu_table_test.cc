// ncu's table and its complaints as it writes them.
#include "worker/profile/ncu_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench::profile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// As `ncu --csv --page raw --print-units base --log-file` writes it on an H200.
constexpr char kTable[] =
    R"csv(==PROF== Connected to process 4711 (/opt/kbench/bin/kbench-runner-cuda)
==PROF== Profiling "SumKernel": 0%....50%....100% - 9 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes.sum","gpu__time_duration.sum","l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum","smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"
"","","","","","","","","","","","byte","ns","","inst"
"0","4711","kbench-runner-cuda","127.0.0.1","void kbench::cuda::<unnamed>::SumKernel<Element<1>, float>(const float *, long, ""x"")","1","7","(256, 1, 1)","(2,048, 1, 1)","0","9.0","268,435,456","9,000.50","n/a","1.25"
"1","4711","kbench-runner-cuda","127.0.0.1","Finish(float *)","1","7","(256, 1, 1)","(1, 1, 1)","0","9.0","4096","2000","","nan"
)csv";

TEST(NcuTable, RowsInBaseUnits) {
  const auto rows = ParseTable(kTable);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].name,
            "void kbench::cuda::<unnamed>::SumKernel<Element<1>, float>(const float *, long, "
            "\"x\")");
  EXPECT_DOUBLE_EQ(rows[0].Value("dram__bytes.sum"), 268435456);
  EXPECT_DOUBLE_EQ(rows[0].Value("gpu__time_duration.sum"), 9000.5e-9);
  EXPECT_DOUBLE_EQ(rows[0].Value("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"),
                   1.25);
  EXPECT_THAT(rows[0].metrics, SizeIs(3)) << "what is n/a is not there";
  EXPECT_EQ(rows[1].name, "Finish(float *)");
  EXPECT_THAT(rows[1].metrics, SizeIs(2));
}

// As ncu 2025.3 writes it without --print-kernel-base.
TEST(NcuTable, HalfANamespaceIsLeftOut) {
  const auto rows = ParseTable(
      "\"ID\",\"Kernel Name\",\"dram__bytes.sum\"\n\"\",\"\",\"byte\"\n"
      "\"0\",\"void unnamed>::SumKernel<Element<1>>(long)\",\"8\"\n");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].name, "void SumKernel<Element<1>>(long)");
}

TEST(NcuTable, ScaledUnitsTooAndCarriageReturns) {
  const auto rows = ParseTable(
      "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"dram__bytes.sum\"\r\n"
      "\"\",\"\",\"us\",\"Mbyte\"\r\n\"0\",\"K\",\"273.95\",\"173.77\"\r\n");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_DOUBLE_EQ(rows[0].Value("gpu__time_duration.sum"), 273.95e-6);
  EXPECT_DOUBLE_EQ(rows[0].Value("dram__bytes.sum"), 173.77e6);
}

TEST(NcuTable, WhatIsNoTableHasNoRows) {
  EXPECT_THAT(ParseTable(""), IsEmpty());
  EXPECT_THAT(ParseTable("==WARNING== No kernels were profiled.\n"), IsEmpty());
  EXPECT_THAT(ParseTable("\"ID\",\"Kernel Name\",\"a__b\"\n"), IsEmpty());
  EXPECT_THAT(ParseTable("\"ID\",\"Kernel Name\",\"a__b\"\n\"\",\"\",\"%\"\n\"0\",\"cut"),
              IsEmpty());
}

TEST(NcuTable, UnknownMetricsByName) {
  EXPECT_THAT(UnknownMetrics("==PROF== sm__a.sum metric\n"
                             "==ERROR== Failed to find metric sm__b.avg.pct, l1tex__c.sum.\n"),
              ElementsAre("sm__b.avg.pct", "l1tex__c.sum"));
  EXPECT_THAT(UnknownMetrics("==ERROR== The application returned an error code (1).\n"), IsEmpty());
}

TEST(NcuTable, ComplaintsInPlainWords) {
  EXPECT_THAT(Complaint("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"),
              HasSubstr("lets only root read"));
  EXPECT_EQ(Complaint("==PROF== x\n==ERROR== The application returned an error code (11).\n"),
            "ncu says: The application returned an error code (11).");
  EXPECT_EQ(Complaint("==PROF== Connected\n"), "");
}

}  // namespace
}  // namespace kbench::profile
