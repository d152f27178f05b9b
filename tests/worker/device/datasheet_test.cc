#include "worker/device/datasheet.h"

#include <gtest/gtest.h>

namespace kbench {
namespace {

constexpr std::int64_t kGib = 1ll << 30;

TEST(Datasheet, KnowsBoardsByName) {
  EXPECT_EQ(DatasheetOf("NVIDIA H200", 9, 0, 141 * kGib).bandwidth, 4800e9);
  EXPECT_EQ(DatasheetOf("NVIDIA H100 80GB HBM3", 9, 0, 80 * kGib).flops.at("fp16"), 989e12);
  EXPECT_EQ(DatasheetOf("NVIDIA H100 PCIe", 9, 0, 80 * kGib).flops.at("fp16"), 756e12);
  EXPECT_EQ(DatasheetOf("NVIDIA GeForce RTX 4090", 8, 9, 24 * kGib).flops.at("tf32"), 82.6e12);
  EXPECT_EQ(DatasheetOf("NVIDIA A100-SXM4-40GB", 8, 0, 40 * kGib).bandwidth, 1555e9);
  EXPECT_EQ(DatasheetOf("NVIDIA A100-SXM4-80GB", 8, 0, 80 * kGib).bandwidth, 2039e9);
}

TEST(Datasheet, DoesNotMistakeOneNameForAnother) {
  EXPECT_EQ(DatasheetOf("NVIDIA L4", 8, 9, 24 * kGib).bandwidth, 300e9);
  EXPECT_EQ(DatasheetOf("NVIDIA L40S", 8, 9, 48 * kGib).bandwidth, 864e9);
  EXPECT_EQ(DatasheetOf("NVIDIA A10", 8, 6, 24 * kGib).bandwidth, 600e9);
  EXPECT_EQ(DatasheetOf("NVIDIA L40", 8, 9, 48 * kGib).bandwidth, 0);
  EXPECT_EQ(DatasheetOf("NVIDIA RTX A4000", 8, 6, 16 * kGib).bandwidth, 0);
}

TEST(Datasheet, ProductsTheHardwareLacksAreAbsent) {
  const auto t4 = DatasheetOf("Tesla T4", 7, 5, 16 * kGib);
  EXPECT_EQ(t4.flops.at("fp16"), 65e12);
  EXPECT_EQ(t4.flops.count("tf32"), 0u);
  EXPECT_EQ(t4.flops.count("bf16"), 0u);
  EXPECT_EQ(DatasheetOf("NVIDIA A100-SXM4-80GB", 8, 0, 80 * kGib).flops.count("fp8e4m3"), 0u);
}

TEST(Datasheet, UnknownIsZero) {
  const auto unknown = DatasheetOf("NVIDIA Mystery 9000", 9, 0, kGib);
  EXPECT_TRUE(unknown.flops.empty());
  EXPECT_EQ(unknown.bandwidth, 0);
  EXPECT_EQ(unknown.l2_bytes, 0);
  // The right name with another capability is another board.
  EXPECT_EQ(DatasheetOf("NVIDIA H200", 8, 0, kGib).bandwidth, 0);
}

}  // namespace
}  // namespace kbench
