// Every candidate of every matmul of ours, in all layouts, where tiles end and where a block makes
// several of them. Skips itself where there is no GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "kernels/cuda/table.h"
#include "tests/kernels/cuda/device_operands.h"

namespace kbench {
namespace {

using testing::DeviceOperands;
using testing::HostOperands;

// Tiles cut at both borders and a depth that is no multiple of a stage; a depth below one stage and
// of two; fewer rows and columns than most tiles have; rows of no whole words.
const char* const kSizes[] = {"m=520,n=328,k=200", "m=136,n=264,k=24", "m=264,n=136,k=128",
                              "m=40,n=72,k=136", "m=259,n=131,k=33"};

// Whether a candidate leaves the sums of a tile for another cluster.
bool HandsOver(const std::string& candidate) {
  return candidate.find(",split") != std::string::npos;
}

class MatmulCandidates : public ::testing::TestWithParam<const Implementation*> {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
      std::cout << "SKIPPED: no GPU\n";
      GTEST_SKIP();
    }
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  // The names of those that ran go to checked_.
  void CheckAll(const Implementation& line, const Problem& problem);
  // Whether the line runs here in no dtype at all.
  static bool Missing(const Implementation& line);

  cudaStream_t stream_ = nullptr;
  std::set<std::string> checked_;
};

void MatmulCandidates::CheckAll(const Implementation& line, const Problem& problem) {
  HostOperands operands(problem);
  DeviceOperands device(operands);
  int here = 0;
  for (const std::string& candidate : line.candidates(problem)) {
    SCOPED_TRACE(candidate);
    auto instance = line.create(problem, device.pointers(), {1, stream_, candidate});
    if (!instance.ok()) {
      EXPECT_EQ(instance.error().kind, ImplementationError::Kind::kUnsupported)
          << instance.error().message;
      continue;
    }
    std::vector<unsigned char> first;
    for (int launch = 0; launch < 2; ++launch) {
      operands.PoisonOutput();
      device.Upload();
      ASSERT_EQ((*instance)->Launch(stream_), 0);
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      device.Download();
      if (launch == 0) first = operands.Output();
    }
    EXPECT_EQ(operands.Output(), first) << "two launches differ";
    EXPECT_EQ(operands.Complaint(), "");
    checked_.insert(candidate);
    ++here;
  }
  EXPECT_GT(here, 0) << "every candidate was refused";
}

bool MatmulCandidates::Missing(const Implementation& line) {
  return line.dtype_missing != nullptr &&
         std::all_of(line.dtypes.begin(), line.dtypes.end(),
                     [&](DType dtype) { return line.dtype_missing(dtype).has_value(); });
}

TEST_P(MatmulCandidates, AreRightInEveryLayout) {
  const Implementation& line = *GetParam();
  if (Missing(line)) GTEST_SKIP() << *line.dtype_missing(line.dtypes.front());
  for (const DType dtype : line.dtypes) {
    if (line.dtype_missing != nullptr && line.dtype_missing(dtype)) continue;
    for (const std::string size : kSizes) {
      for (const char* layout : {"nn", "nt", "tn", "tt"}) {
        auto problem = MakeProblem("matmul", Info(dtype).name, size + ",layout=" + layout, "");
        if (!problem.ok()) continue;  // a dtype that has not all layouts
        if (line.unsupported != nullptr && line.unsupported(*problem)) continue;
        SCOPED_TRACE(std::string(Info(dtype).name) + " " + problem->shape.Canonical());
        CheckAll(line, *problem);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_FALSE(checked_.empty()) << "every problem was refused";
}

TEST_P(MatmulCandidates, AreRightWithSeveralTilesABlock) {
  const Implementation& line = *GetParam();
  if (Missing(line)) GTEST_SKIP() << *line.dtype_missing(line.dtypes.front());
  const DType first = line.dtypes.front(), last = line.dtypes.back();
  const std::pair<DType, std::string> kinds[] = {
      {first, "nt"}, {last, "nn"}, {last, "tn"}, {last, "tt"}};
  for (const auto& [dtype, layout] : kinds) {
    if (line.dtype_missing != nullptr && line.dtype_missing(dtype)) continue;
    // The last leaves some multiprocessors a tile more than others: cuda/wgmma splits it.
    checked_.clear();
    for (const char* size : {"m=2600,n=4104,k=72", "m=2600,n=4104,k=520", "m=2200,n=2056,k=1880"}) {
      const Problem problem =
          testing::MustMakeProblem("matmul", dtype, std::string(size) + ",layout=" + layout);
      if (line.unsupported != nullptr && line.unsupported(problem)) continue;
      SCOPED_TRACE(std::string(Info(dtype).name) + " " + problem.shape.Canonical());
      CheckAll(line, problem);
      if (HasFatalFailure()) return;
    }
    if (line.name == "cuda/wgmma") {
      EXPECT_TRUE(std::any_of(checked_.begin(), checked_.end(), HandsOver))
          << Info(dtype).name << " " << layout << ": no split tile was checked";
    }
  }
  EXPECT_FALSE(checked_.empty()) << "every problem was refused";
}

std::vector<const Implementation*> Tunable() {
  std::vector<const Implementation*> lines;
  for (const Implementation& line : CudaTable()) {
    if (line.kernel == "matmul" && line.candidates != nullptr) lines.push_back(&line);
  }
  return lines;
}

INSTANTIATE_TEST_SUITE_P(Cuda, MatmulCandidates, ::testing::ValuesIn(Tunable()),
                         [](const auto& info) {
                           return testing::CellName({info.param, DType::kFp32});
                         });

}  // namespace
}  // namespace kbench
