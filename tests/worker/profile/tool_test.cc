// Programs beside the runners: found, run, cut short.
#include "worker/profile/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "worker/profile/disassemble.h"

namespace kbench::profile {
namespace {

using testing::HasSubstr;

class ToolTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/tool-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Script(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string folder_;
};

TEST_F(ToolTest, FoundInTheFoldersOrNowhere) {
  const std::string path = Script("no-such-name-elsewhere", "");
  EXPECT_EQ(FindProgram("no-such-name-elsewhere", {"/nowhere", folder_}), path);
  EXPECT_EQ(FindProgram("no-such-name-elsewhere", {"/nowhere"}), "");
  std::ofstream(folder_ + "/not-executable") << "x";
  EXPECT_EQ(FindProgram("not-executable", {folder_}), "");
}

TEST_F(ToolTest, WhatItReadsAndPrints) {
  std::ofstream(folder_ + "/input") << "read";
  Tool tool;
  tool.argv = {Script("echoes", "cat; echo $NAME; echo wrong >&2; exit 3\n")};
  tool.env = {{"NAME", "value"}};
  tool.input = folder_ + "/input";
  tool.folder = folder_;
  const auto run = RunTool(tool, nullptr);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->out, "readvalue\n");
  EXPECT_EQ(run->err, "wrong\n");
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_FALSE(run->timed_out);
}

TEST_F(ToolTest, EndsWithItsTimeAndItsChildren) {
  Tool tool;
  tool.argv = {Script("hangs", "echo begun; sleep 1000 & sleep 1000\n")};
  tool.folder = folder_;
  tool.seconds = 0.3;
  const auto run = RunTool(tool, nullptr);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->timed_out);
  EXPECT_EQ(run->out, "begun\n");
  tool.seconds = 1000;
  EXPECT_FALSE(RunTool(tool, [] { return true; }).ok());
}

TEST_F(ToolTest, OutputIsCapped) {
  Tool tool;
  tool.argv = {Script("floods", "head -c 100000 /dev/zero\n")};
  tool.folder = folder_;
  tool.most_bytes = 1000;
  EXPECT_EQ(RunTool(tool, nullptr)->out.size(), 1000u);
}

TEST_F(ToolTest, AProgramThatIsNotThere) {
  Tool tool;
  tool.argv = {folder_ + "/nothing"};
  tool.folder = folder_;
  EXPECT_FALSE(RunTool(tool, nullptr).ok());
}

TEST_F(ToolTest, DisassemblesByNameOrAll) {
  const std::string cubin = folder_ + "/a.cubin";
  std::ofstream(cubin) << "x";
  const auto by_name =
      Disassemble(Script("cuobjdump", "echo $@\n"), cubin, {"_Z1av", "_Z1bv"}, 5, 1000, nullptr);
  EXPECT_EQ(by_name.value(), "--dump-sass --function _Z1av,_Z1bv " + cubin + "\n");
  const auto all = Disassemble(Script("nvdisasm", "echo $@\n"), cubin, {"_Z1av"}, 5, 1000, nullptr);
  EXPECT_EQ(all.value(), "--print-code " + cubin + "\n");
}

TEST_F(ToolTest, ADisassemblerThatFailsSaysWhy) {
  const std::string bad = Script("cuobjdump", "echo cuobjdump fatal: bad file >&2; exit 255\n");
  EXPECT_THAT(
      std::string(Disassemble(bad, folder_ + "/x", {"f"}, 5, 10, nullptr).status().message()),
      HasSubstr("exit code 255: cuobjdump fatal: bad file"));
  const std::string slow = Script("nvdisasm", "sleep 100\n");
  EXPECT_THAT(
      std::string(Disassemble(slow, folder_ + "/x", {"f"}, 0.2, 10, nullptr).status().message()),
      HasSubstr("was not done"));
}

}  // namespace
}  // namespace kbench::profile
