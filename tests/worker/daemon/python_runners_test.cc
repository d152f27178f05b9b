#include "worker/daemon/python_runners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/worker/daemon/fake_python.h"
#include "worker/daemon/worker_options.h"

namespace kbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

DeviceFacts Facts(const std::string& kind) {
  DeviceFacts facts;
  facts.device.set_kind(kind);
  if (kind == "cuda") facts.runner_env["CUDA_VISIBLE_DEVICES"] = "GPU-1";
  if (kind == "cpu") facts.cpus = {0, 1, 2};
  return facts;
}

TEST(PythonRunners, OneForEachFrameworkThatTheDeviceCanUse) {
  const FakePythons pythons("python-runners");
  PythonEnvironment environment{"torch211", pythons.Path("good"), {}, ""};
  const auto gpu = MakePythonRunners({environment}, Facts("cuda"), "/opt/kbench/bin", 77);
  ASSERT_THAT(gpu.specs, SizeIs(2));
  const RunnerSpec& spec = gpu.specs[1];
  EXPECT_EQ(spec.program, pythons.Path("good"));
  EXPECT_EQ(spec.framework, "triton");
  EXPECT_EQ(spec.environment, "torch211");
  EXPECT_EQ(spec.hello_seconds, 60);
  const std::vector<std::string> expected = {"-m",
                                             "kbench_runner",
                                             "--framework",
                                             "triton",
                                             "--device",
                                             "cuda",
                                             "--engine",
                                             "/opt/kbench/bin/libkbench-engine-cuda.so",
                                             "--environment",
                                             "torch211",
                                             "--parent",
                                             "77"};
  EXPECT_EQ(spec.args, expected);
  EXPECT_EQ(spec.env.at("PYTHONPATH"), "/opt/kbench/lib/kbench/python");
  EXPECT_EQ(spec.env.at("CUDA_VISIBLE_DEVICES"), "GPU-1");
  const auto cpu = MakePythonRunners({environment}, Facts("cpu"), "/opt/kbench/bin", 77);
  ASSERT_THAT(cpu.specs, SizeIs(1));
  EXPECT_THAT(cpu.specs[0].args,
              AllOf(Contains("torch"), Contains("/opt/kbench/bin/libkbench-engine.so"),
                    Contains("--cpus"), Contains("0-2"), Contains("--threads"), Contains("3")));
  environment.frameworks = {"triton"};
  EXPECT_THAT(MakePythonRunners({environment}, Facts("cpu"), "/opt", 77).specs, IsEmpty());
}

TEST(PythonRunners, WithoutAnInterpreterTheyAreAbsent) {
  const PythonEnvironment gone{"old", "/nonexistent/python", {}, "[env.old] of /x/worker.toml"};
  const PythonEnvironment folder{"folder", "/tmp", {"torch"}, ""};
  const PythonEnvironment unknown{"word", "no-such-python", {"torch"}, ""};
  const auto runners = MakePythonRunners({gone, folder, unknown}, Facts("cuda"), "/opt", 77);
  EXPECT_THAT(runners.specs, IsEmpty());
  ASSERT_THAT(runners.absent, SizeIs(4));
  EXPECT_EQ(runners.absent[0].framework(), "torch");
  EXPECT_EQ(runners.absent[1].framework(), "triton");
  EXPECT_EQ(runners.absent[0].environment(), "old");
  EXPECT_EQ(runners.absent[0].message(),
            "/nonexistent/python does not exist ([env.old] of /x/worker.toml)");
  EXPECT_EQ(runners.absent[2].message(), "/tmp is not a program");
  EXPECT_EQ(runners.absent[3].message(), "there is no no-such-python on PATH");
}

TEST(PythonRunners, WhichConfigurationCounts) {
  const FakePythons files("python-config");
  const std::string home = files.dir() + "/config";
  setenv("XDG_CONFIG_HOME", home.c_str(), 1);
  WorkerOptions options;
  auto all = PythonEnvironments(options);
  ASSERT_TRUE(all.ok());
  ASSERT_THAT(*all, SizeIs(1)) << "without a file: the python3 on PATH";
  EXPECT_EQ((*all)[0].name, "default");
  EXPECT_EQ((*all)[0].python, "python3");
  std::filesystem::create_directories(home + "/kbench");
  std::ofstream(home + "/kbench/worker.toml") << "[env.mine]\npython = \"/x\"\n";
  EXPECT_EQ((*PythonEnvironments(options))[0].name, "mine");
  std::ofstream(files.dir() + "/other.toml") << "[env.other]\npython = \"/x\"\n";
  options.runners = {"/x/runner"};
  EXPECT_THAT(*PythonEnvironments(options), IsEmpty()) << "--runner replaces all";
  options.config = files.dir() + "/other.toml";
  EXPECT_EQ((*PythonEnvironments(options))[0].name, "other");
  options.config = files.dir() + "/absent.toml";
  EXPECT_FALSE(PythonEnvironments(options).ok());
  options.python = false;
  EXPECT_THAT(*PythonEnvironments(options), IsEmpty());
  unsetenv("XDG_CONFIG_HOME");
}

}  // namespace
}  // namespace kbench
