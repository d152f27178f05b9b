#include "worker/daemon/runner_hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kbench {
namespace {

using testing::HasSubstr;

TEST(RunnerHello, TheLastLineSaysMost) {
  EXPECT_EQ(LastLine(""), "");
  EXPECT_EQ(LastLine("--- stdout\n\n"), "");
  EXPECT_EQ(LastLine("--- stdout\nhello\n--- stderr\nTraceback:\n  File x\nValueError: no\n\n"),
            "ValueError: no");
  EXPECT_EQ(LastLine("--- stdout\nonly this\n"), "only this");
  EXPECT_EQ(LastLine(std::string("a\x01\xff") + "b"), "a ?b") << "a message is UTF-8";
  EXPECT_EQ(LastLine(std::string(5000, 'x')).size(), 303u);
}

TEST(RunnerHello, ACrashedInterpreterSaysWhere) {
  EXPECT_EQ(
      LastLine("--- stderr\nFatal Python error: Segmentation fault\n\n"
               "Thread 0x7f01 (most recent call first):\n  File \"pool.py\", line 3 in wait\n\n"
               "Current thread 0x7f02 (most recent call first):\n"
               "  File \"flash.py\", line 12 in launch\n  File \"main.py\", line 1 in run\n\n"
               "Extension modules: numpy (total: 1)\n"),
      "File \"flash.py\", line 12 in launch");
}

TEST(RunnerHello, NamesSayTheirEnvironment) {
  RunnerSpec spec{"/x/python", {}, {}};
  spec.framework = "torch";
  spec.environment = "default";
  v1::RunnerHelloReply hello;
  hello.add_implementations()->set_name("torch@other");
  EXPECT_THAT(std::string(AdoptPythonNames(spec, &hello).message()),
              HasSubstr("offers 'torch@other', whose name should end in 'torch'"));
  hello.mutable_implementations(0)->set_name("torch");
  hello.mutable_implementations(0)->set_default_choice(true);
  hello.add_absent()->set_message("cudnn is too old");
  ASSERT_TRUE(AdoptPythonNames(spec, &hello).ok());
  EXPECT_EQ(hello.implementations(0).environment(), "default");
  EXPECT_TRUE(hello.implementations(0).default_choice());
  EXPECT_EQ(hello.absent(0).framework(), "torch");
  EXPECT_EQ(NameOf(hello.absent(0)), "torch (default)");
}

TEST(RunnerHello, ProtocolAndDeviceMustFit) {
  const RunnerSpec spec{"/x/runner", {}, {}};
  v1::RunnerHelloReply hello;
  hello.set_protocol_version(2);
  EXPECT_THAT(std::string(CheckHello(spec, "cpu", hello).message()),
              HasSubstr("/x/runner speaks protocol 2, this worker speaks 1"));
  hello.set_protocol_version(1);
  hello.set_device_kind("cuda");
  EXPECT_THAT(std::string(CheckHello(spec, "cpu", hello).message()), HasSubstr("drives 'cuda'"));
  EXPECT_TRUE(CheckHello(spec, "cuda", hello).ok());
}

}  // namespace
}  // namespace kbench
