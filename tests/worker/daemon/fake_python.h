// Interpreters that behave as their names say (fake_python.py), in a folder that goes with the
// object.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "worker/daemon/runner_process.h"

namespace kbench {

class FakePythons {
 public:
  explicit FakePythons(const std::string& folder)
      : dir_(testing::TempDir() + "/" + folder + "-" + std::to_string(getpid())) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~FakePythons() { std::filesystem::remove_all(dir_); }
  FakePythons(const FakePythons&) = delete;
  FakePythons& operator=(const FakePythons&) = delete;

  const std::string& dir() const { return dir_; }
  // The path of one that behaves in this way.
  std::string Path(const std::string& behaviour) const {
    const std::string path = dir_ + "/python-" + behaviour;
    std::error_code there;
    std::filesystem::create_symlink(KBENCH_FAKE_PYTHON, path, there);
    return path;
  }
  RunnerSpec Spec(const std::string& behaviour, const std::string& environment = "default",
                  double hello_seconds = 20) const {
    RunnerSpec spec{Path(behaviour), {"--environment", environment}, {}};
    spec.framework = "torch";
    spec.environment = environment;
    spec.hello_seconds = hello_seconds;
    return spec;
  }

 private:
  const std::string dir_;
};

}  // namespace kbench
