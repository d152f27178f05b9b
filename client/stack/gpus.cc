#include "client/stack/gpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>

#include "proto/support/process.h"

namespace kbench::client {
namespace {

int CountNodes(const std::string& dev_dir) {
  constexpr char kPrefix[] = "nvidia";
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dev_dir, error)) {
    const std::string name = entry.path().filename().string();
    const std::string number = name.rfind(kPrefix, 0) == 0 ? name.substr(sizeof(kPrefix) - 1) : "";
    const bool digits = !number.empty() && std::all_of(number.begin(), number.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    count += digits ? 1 : 0;
  }
  return count;
}

std::string FindOnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

int CountByNvidiaSmi() {
  const std::string program = FindOnPath("nvidia-smi");
  int ends[2] = {-1, -1};
  if (program.empty() || pipe2(ends, O_CLOEXEC) != 0) return 0;
  ProcessSpec spec;
  spec.argv = {program, "-L"};
  spec.descriptors = {-1, ends[1], -1};
  auto process = Spawn(spec);
  close(ends[1]);
  int count = 0;
  if (process.ok()) {
    std::string output;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
      output.append(buffer, static_cast<std::size_t>(n));
    }
    const bool good = WaitProcess(*process, 10).code == 0;
    KillProcessGroup(*process, 0);
    close(process->pidfd);
    std::istringstream lines(output);
    for (std::string line; good && std::getline(lines, line);) {
      count += line.rfind("GPU ", 0) == 0 ? 1 : 0;
    }
  }
  close(ends[0]);
  return count;
}

}  // namespace

int CountGpus(const std::string& dev_dir) {
  const int nodes = CountNodes(dev_dir);
  return nodes > 0 ? nodes : CountByNvidiaSmi();
}

}  // namespace kbench::client
