#include "worker/daemon/python_runners.h"

#include <unistd.h>

#include <filesystem>

#include "fmt/format.h"
#include "proto/support/cpu_list.h"
#include "worker/profile/tool.h"

namespace kbench {
namespace {

// Importing torch takes 5 s from a cold disk, and several workers may start at once.
constexpr double kHelloSeconds = 60;

// Triton compiles for GPUs alone.
std::vector<std::string> FrameworksOf(const PythonEnvironment& environment, bool cuda) {
  std::vector<std::string> frameworks = environment.frameworks;
  if (frameworks.empty()) frameworks = {"torch", "triton"};
  if (!cuda) std::erase(frameworks, "triton");
  return frameworks;
}

// Empty where there is none.
std::string FindInterpreter(const std::string& python) {
  if (python.find('/') == std::string::npos) return profile::FindProgram(python, {});
  std::error_code error;
  const bool program =
      std::filesystem::is_regular_file(python, error) && access(python.c_str(), X_OK) == 0;
  return program ? python : "";
}

std::string WhyNoInterpreter(const PythonEnvironment& environment) {
  const std::string origin = environment.origin.empty() ? "" : " (" + environment.origin + ")";
  if (environment.python.find('/') == std::string::npos) {
    return fmt::format("there is no {} on PATH{}", environment.python, origin);
  }
  std::error_code error;
  const bool exists = std::filesystem::exists(environment.python, error);
  return fmt::format("{} {}{}", environment.python, exists ? "is not a program" : "does not exist",
                     origin);
}

RunnerSpec MakeSpec(const std::string& interpreter, const std::string& framework,
                    const PythonEnvironment& environment, const DeviceFacts& facts,
                    const std::string& program_dir, int parent_pid) {
  const std::string kind = facts.device.kind();
  const std::string engine =
      program_dir + (kind == "cuda" ? "/libkbench-engine-cuda.so" : "/libkbench-engine.so");
  RunnerSpec spec;
  spec.program = interpreter;
  spec.args = {"-m",
               "kbench_runner",
               "--framework",
               framework,
               "--device",
               kind,
               "--engine",
               engine,
               "--environment",
               environment.name,
               "--parent",
               std::to_string(parent_pid)};
  if (!facts.cpus.empty()) {
    spec.args.insert(spec.args.end(), {"--cpus", FormatCpuList(facts.cpus), "--threads",
                                       std::to_string(facts.cpus.size())});
  }
  spec.env = facts.runner_env;
  spec.env["PYTHONPATH"] = (std::filesystem::path(program_dir).parent_path() / "lib/kbench/python");
  // So that what it printed last is there when it crashes, with the line that it crashed in.
  spec.env["PYTHONUNBUFFERED"] = "1";
  spec.env["PYTHONFAULTHANDLER"] = "1";
  spec.framework = framework;
  spec.environment = environment.name;
  spec.hello_seconds = kHelloSeconds;
  return spec;
}

}  // namespace

PythonRunners MakePythonRunners(const std::vector<PythonEnvironment>& environments,
                                const DeviceFacts& facts, const std::string& program_dir,
                                int parent_pid) {
  PythonRunners runners;
  for (const PythonEnvironment& environment : environments) {
    const std::string interpreter = FindInterpreter(environment.python);
    for (const std::string& framework : FrameworksOf(environment, facts.device.kind() == "cuda")) {
      if (!interpreter.empty()) {
        runners.specs.push_back(
            MakeSpec(interpreter, framework, environment, facts, program_dir, parent_pid));
        continue;
      }
      v1::AbsentFramework& absent = runners.absent.emplace_back();
      absent.set_framework(framework);
      absent.set_environment(environment.name);
      absent.set_message(WhyNoInterpreter(environment));
      if (environment.python == "python3") absent.set_install("sudo apt-get install python3");
    }
  }
  return runners;
}

}  // namespace kbench
