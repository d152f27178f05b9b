// References shared through files.
#include "kernels/reference/reference_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/kernels/reference/checks.h"

namespace kbench::reference {
namespace {

namespace fs = std::filesystem;

class ReferenceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("kbench-reference-" + std::to_string(getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(dir_)) files.push_back(entry.path());
    return files;
  }
  // Whether the reference came from a file; it must work in any case.
  bool Loads(const Problem& problem, std::uint64_t seed) {
    auto reference = Reference::ComputeOrLoad(problem, seed, dir_.string(), 1);
    EXPECT_TRUE(reference.ok());
    EXPECT_TRUE((*reference)->Check(Store(problem, Compute(problem, seed)).data(), 1).passed);
    return (*reference)->loaded();
  }

  fs::path dir_;
};

TEST_F(ReferenceFileTest, IsComputedOnceAndThenRead) {
  for (const auto& [kernel, size] :
       {std::pair{"matmul", "50"}, std::pair{"softmax", "20x300"}, std::pair{"sum", "5000"},
        std::pair{"copy", "5000"}, std::pair{"attention", "1x2x50x8"}}) {
    const Problem problem = Make(kernel, "fp16", size);
    EXPECT_FALSE(Loads(problem, 1)) << kernel;
    EXPECT_TRUE(Loads(problem, 1)) << kernel;
    EXPECT_FALSE(Loads(problem, 2)) << kernel;
  }
  EXPECT_EQ(Files().size(), 10u);  // and nothing temporary
}

TEST_F(ReferenceFileTest, AnotherProblemDoesNotTakeIt) {
  EXPECT_FALSE(Loads(Make("matmul", "fp16", "40x50x60"), 1));
  EXPECT_FALSE(Loads(Make("matmul", "fp16", "40x50x61"), 1));
  EXPECT_FALSE(Loads(Make("matmul", "fp16", "40x50x60,layout=tn"), 1));
  EXPECT_FALSE(Loads(Make("matmul", "bf16", "40x50x60"), 1));
  EXPECT_TRUE(Loads(Make("matmul", "fp16", "40x50x60"), 1));
}

TEST_F(ReferenceFileTest, DamagedFilesAreReplaced) {
  const Problem problem = Make("matmul", "fp32", "30");
  EXPECT_FALSE(Loads(problem, 1));
  const fs::path path = Files().at(0);
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  in.close();
  std::vector<std::string> damaged = {"",
                                      "x",
                                      good.substr(0, 20),
                                      good.substr(0, good.size() - 1),
                                      good.substr(0, good.size() - 8),
                                      good + "x",
                                      std::string(good.size(), '\0')};
  // A flipped bit in the magic, the key's length, the count, the digest, the key and the numbers.
  for (std::size_t at : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{16},
                         std::size_t{24}, std::size_t{35}, good.size() / 2, good.size() - 1}) {
    damaged.push_back(good);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 4);
  }
  for (const std::string& content : damaged) {
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_FALSE(Loads(problem, 1)) << content.size();
    EXPECT_TRUE(Loads(problem, 1)) << content.size();
  }
}

TEST_F(ReferenceFileTest, AFolderThatCannotBeWrittenCostsOnlyTheSharing) {
  const Problem problem = Make("matmul", "fp32", "30");
  dir_ /= "is/not/there";
  EXPECT_FALSE(Loads(problem, 1));
  EXPECT_FALSE(Loads(problem, 1));
  dir_ = dir_.parent_path().parent_path().parent_path();
}

TEST_F(ReferenceFileTest, WritersAndReadersMayMeet) {
  const std::string path = ReferencePath(dir_.string(), "n", "key");
  const std::vector<double> values(10000, 3.5);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (!SaveReference(path, "key", values)) ++wrong;
        std::vector<double> read;
        if (!LoadReference(path, "key", values.size(), &read) || read != values) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Files().size(), 1u);
}

TEST(Reference, RefusesAKernelWithoutOne) {
  Problem problem = Make("sum", "fp32", "8");
  problem.kernel = "sort";
  auto reference = Reference::ComputeOrLoad(problem, 1, "", 1);
  ASSERT_FALSE(reference.ok());
  EXPECT_EQ(reference.error(), "there is no reference for kernel sort");
}

TEST(Reference, TakesAnyNumberOfThreads) {
  const Problem problem = Make("matmul", "fp32", "300x300x100");
  const std::vector<char> output = Store(problem, Compute(problem, 1));
  for (int threads : {0, 1, 3, 64}) {
    auto reference = Reference::ComputeOrLoad(problem, 1, "", threads);
    ASSERT_TRUE(reference.ok());
    EXPECT_TRUE((*reference)->Check(output.data(), threads).passed);
  }
}

}  // namespace
}  // namespace kbench::reference
