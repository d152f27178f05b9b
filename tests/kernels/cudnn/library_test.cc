// How libcudnn is found and told apart. Needs no GPU, and no libcudnn.
#include "kernels/cudnn/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace kbench::cudnn {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("kbench-cudnn-" +
             std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string Touch(const std::string& name) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "no library";
    return path.string();
  }
  fs::path root_;
};

TEST_F(Files, AVersionStandsInTheNameOfTheFileBehindTheLink) {
  Touch("libcudnn.so.9.14.2");
  fs::create_symlink("libcudnn.so.9.14.2", root_ / "libcudnn.so.9");
  EXPECT_THAT(Examine((root_ / "libcudnn.so.9").string()).version, ElementsAre(9, 14, 2));
}

TEST_F(Files, AVersionStandsInTheNameOfTheWheel) {
  const std::string path = Touch("site-packages/nvidia/cudnn/lib/libcudnn.so.9");
  EXPECT_THAT(Examine(path).version, ElementsAre(0, 0, 0));
  Touch("site-packages/nvidia_cudnn_cu11-9.1.0.70.dist-info/METADATA");
  EXPECT_THAT(Examine(path).version, ElementsAre(0, 0, 0)) << "made for another CUDA";
  for (const char* cuda : {"12", "13"}) {
    Touch(std::string("site-packages/nvidia_cudnn_cu") + cuda + "-9.19.0.56.dist-info/METADATA");
  }
  EXPECT_THAT(Examine(path).version, ElementsAre(9, 19, 0));
  EXPECT_EQ(Examine(path).path, path);
}

TEST_F(Files, WhatIsNoLibraryIsPassedOverAndTheReasonSaysWhatWouldBeRight) {
  const std::string path = Touch("libcudnn.so.9");
  const Library library = LoadFirst({path});
  EXPECT_EQ(library.loaded, nullptr);
  EXPECT_EQ(library.version, "");
  EXPECT_THAT(library.missing, HasSubstr("libcudnn.so.9 was not found (" + path));
  EXPECT_THAT(library.missing, HasSubstr("install cuDNN 9 for CUDA 1"));
}

TEST(TheLibrary, IsThereWithAVersionOrMissingWithAReason) {
  const Library& library = TheLibrary();
  const auto missing = LibraryMissing(DType::kFp32);
  EXPECT_EQ(missing.has_value(), library.loaded == nullptr);
  if (library.loaded != nullptr) {
    EXPECT_THAT(library.version, MatchesRegex("9\\.[0-9]+\\.[0-9]+"));
    EXPECT_NE(library.path, "");
  } else {
    EXPECT_THAT(*missing, HasSubstr("was not found"));
  }
}

}  // namespace
}  // namespace kbench::cudnn
