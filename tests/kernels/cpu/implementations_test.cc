// Every CPU implementation in every dtype on small and odd problems, against the reference checker.
#include <gtest/gtest.h>

#include "kernels/cpu/table.h"
#include "tests/kernels/cpu/implementation_cases.h"

namespace kbench {
namespace {

using testing::Cell;
using testing::HostOperands;

class CpuImplementation : public ::testing::TestWithParam<Cell> {};

void CheckProblem(const Implementation& implementation, const Problem& problem, int threads) {
  if (implementation.dtype_missing != nullptr && implementation.dtype_missing(problem.dtype))
    return;
  if (implementation.unsupported != nullptr) {
    if (const auto reason = implementation.unsupported(problem)) {
      EXPECT_GT(reason->size(), 20u) << "a reason says something: " << *reason;
      return;
    }
  }
  HostOperands operands(problem);
  auto instance = implementation.create(problem, operands.pointers(), {threads, nullptr});
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  ASSERT_EQ((*instance)->Launch(nullptr), 0) << (*instance)->ErrorText(1);
  EXPECT_EQ(operands.Complaint(), "");
  const std::vector<unsigned char> first = operands.Output();
  operands.PoisonOutput();
  ASSERT_EQ((*instance)->Launch(nullptr), 0);
  EXPECT_EQ(operands.Output(), first) << "two launches differ";
  EXPECT_EQ((*instance)->Configuration().count("threads"), 1u);
}

TEST_P(CpuImplementation, IsRightOnSmallAndOddProblems) {
  const auto& [implementation, dtype] = GetParam();
  for (const Problem& problem : testing::SmallProblems(implementation->kernel, dtype)) {
    // The plain loops have one thread whatever they are given.
    const bool naive = implementation->name == "cpu/naive";
    for (int threads : naive ? std::vector<int>{1} : std::vector<int>{1, 3}) {
      SCOPED_TRACE(problem.shape.Canonical() + " on " + std::to_string(threads) + " threads");
      CheckProblem(*implementation, problem, threads);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, CpuImplementation,
                         ::testing::ValuesIn(testing::CellsOf(CpuTable())),
                         [](const auto& info) { return testing::CellName(info.param); });

}  // namespace
}  // namespace kbench
