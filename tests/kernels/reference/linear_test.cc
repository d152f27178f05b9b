#include "kernels/reference/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/reference/matmul_tiles.h"
#include "kernels/reference/random.h"

namespace kbench::reference {
namespace {

std::vector<double> Random(std::size_t count, std::uint32_t stream) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = Uniform64At(1, stream, i);
  return values;
}

TEST(PanelMultiply, IsAProduct) {
  for (std::int64_t rows : {1, 2, 5}) {
    for (std::int64_t depth : {1, 3, 64}) {
      const std::int64_t stride = depth + 2;
      const auto a = Random(static_cast<std::size_t>(rows * stride), 0);
      const auto panel = Random(static_cast<std::size_t>(depth * kPanel), 1);
      auto out = Random(static_cast<std::size_t>(rows * kPanel), 2);
      auto expected = out;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t p = 0; p < depth; ++p) {
          for (std::int64_t c = 0; c < kPanel; ++c) {
            expected[static_cast<std::size_t>(r * kPanel + c)] +=
                a[static_cast<std::size_t>(r * stride + p)] *
                panel[static_cast<std::size_t>(p * kPanel + c)];
          }
        }
      }
      PanelMultiply(a.data(), stride, rows, depth, panel.data(), out.data());
      for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 1e-13);
    }
  }
}

TEST(AddRows, IsAWeightedSum) {
  for (std::int64_t count : {1, 3, 4, 7}) {
    const std::int64_t cols = 19;
    const auto factors = Random(static_cast<std::size_t>(count), 0);
    const auto rows = Random(static_cast<std::size_t>(count * cols), 1);
    std::vector<double> out(static_cast<std::size_t>(cols), 1.0);
    AddRows(factors.data(), count, rows.data(), cols, out.data());
    for (std::int64_t j = 0; j < cols; ++j) {
      double expected = 1;
      for (std::int64_t i = 0; i < count; ++i) {
        expected +=
            factors[static_cast<std::size_t>(i)] * rows[static_cast<std::size_t>(i * cols + j)];
      }
      ASSERT_NEAR(out[static_cast<std::size_t>(j)], expected, 1e-14);
    }
  }
}

TEST(ExpInPlace, IsTheExponential) {
  std::vector<double> values = {0, -1, 1, -0.5, -700, 699, 0x1p-60, -0x1p-60};
  for (int i = 0; i < 20000; ++i) values.push_back(-700 + i * 0.07);
  for (int i = 0; i < 20000; ++i) values.push_back(-2 + i * 2e-4);
  std::vector<double> results = values;
  ExpInPlace(results.data(), static_cast<std::int64_t>(results.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = std::exp(values[i]);
    ASSERT_NEAR(results[i] / expected, 1, 5e-16) << values[i];
  }
  EXPECT_EQ(results[0], 1);
  double far[] = {-701, -1e300};
  ExpInPlace(far, 2);
  EXPECT_EQ(far[0], 0);
  EXPECT_EQ(far[1], 0);
}

TEST(Sum, AddsUp) {
  for (std::size_t count : {0, 1, 7, 8, 9, 1000}) {
    const auto values = Random(count, 0);
    double expected = 0;
    for (double value : values) expected += value;
    EXPECT_NEAR(Sum(values.data(), static_cast<std::int64_t>(count)), expected, 1e-12);
  }
}

TEST(Compare, FindsTheWorst) {
  const std::vector<double> output = {1, 2, -7}, reference = {1, 5, -8};
  const Difference difference = Compare(output.data(), reference.data(), 3);
  EXPECT_EQ(difference.squared_error, 10);
  EXPECT_EQ(difference.squared_output, 54);
  EXPECT_EQ(difference.squared_reference, 90);
  EXPECT_EQ(difference.largest_error, 3);
  EXPECT_EQ(difference.largest_reference, 8);
  EXPECT_EQ(difference.worst, 1);
}

TEST(SignPanel, HoldsSignsThatDoNotDependOnTheCut) {
  std::vector<double> whole(1000 * kPanel), part(300 * kPanel);
  SignPanel(9, 0, 1000, whole.data());
  SignPanel(9, 333, 300, part.data());
  double sum = 0;
  for (double sign : whole) {
    ASSERT_EQ(std::abs(sign), 1);
    sum += sign;
  }
  EXPECT_LT(std::abs(sum), 4 * std::sqrt(16000.0));
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[333 * kPanel + i]);
}

TEST(InputMatrix, SeesATransposedOperandAsWritten) {
  const OperandSpec plain{"a", DType::kFp32, {70, 40}, false, false};
  const OperandSpec turned{"a", DType::kFp32, {40, 70}, false, false};
  const InputMatrix straight(plain, 0, false, 1), transposed(turned, 0, true, 1);
  std::vector<double> tile(30 * 20);
  straight.Load(5, 30, 7, 20, tile.data());
  for (std::uint64_t i = 0; i < 30; ++i) {
    for (std::uint64_t j = 0; j < 20; ++j) {
      ASSERT_EQ(tile[i * 20 + j], UniformAt(1, 0, (5 + i) * 40 + 7 + j));
    }
  }
  transposed.Load(5, 30, 7, 20, tile.data());
  for (std::uint64_t i = 0; i < 30; ++i) {
    for (std::uint64_t j = 0; j < 20; ++j) {
      ASSERT_EQ(tile[i * 20 + j], UniformAt(1, 0, (7 + j) * 70 + 5 + i));
    }
  }
}

}  // namespace
}  // namespace kbench::reference
