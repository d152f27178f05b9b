#include "worker/profile/tool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/process.h"

namespace kbench::profile {
namespace {

namespace fs = std::filesystem;

constexpr char kToolkit[] = "/usr/local/cuda/bin";
constexpr char kNsightCompute[] = "/opt/nvidia/nsight-compute";
constexpr double kLookSeconds = 0.05;
constexpr std::size_t kLeastErrorBytes = 4096;

class File {
 public:
  File(const std::string& path, int flags)
      : fd_(path.empty() ? -1 : open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

bool IsProgram(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// "2025.3.1" -> {2025, 3, 1}
std::vector<int> VersionOf(const std::string& name) {
  std::istringstream text(name);
  std::vector<int> version;
  for (std::string part; std::getline(text, part, '.');) version.push_back(std::atoi(part.c_str()));
  return version;
}

}  // namespace

std::string FindProgram(const std::string& name, const std::vector<std::string>& folders) {
  const char* path = std::getenv("PATH");
  std::istringstream listed(path == nullptr ? "" : path);
  std::vector<std::string> all;
  for (std::string folder; std::getline(listed, folder, ':');) {
    if (!folder.empty()) all.push_back(folder);
  }
  all.insert(all.end(), folders.begin(), folders.end());
  for (const std::string& folder : all) {
    const std::string candidate = folder + "/" + name;
    if (IsProgram(candidate)) return candidate;
  }
  return "";
}

std::string FindNcu() {
  std::vector<std::pair<std::vector<int>, std::string>> versions;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kNsightCompute, error)) {
    versions.emplace_back(VersionOf(entry.path().filename().string()), entry.path().string());
  }
  std::sort(versions.rbegin(), versions.rend());
  std::vector<std::string> folders = {kToolkit};
  for (const auto& [version, folder] : versions) folders.push_back(folder);
  return FindProgram("ncu", folders);
}

std::string FindDisassembler() {
  const std::string best = FindProgram("cuobjdump", {kToolkit});
  return best.empty() ? FindProgram("nvdisasm", {kToolkit}) : best;
}

absl::StatusOr<ToolOutput> RunTool(const Tool& tool, const std::function<bool()>& stopped) {
  const std::string out_path = tool.folder + "/tool-stdout";
  const std::string err_path = tool.folder + "/tool-stderr";
  ProcessSpec spec;
  spec.argv = tool.argv;
  spec.env = tool.env;
  absl::StatusOr<Process> process = absl::InternalError("not started");
  {
    const File in(tool.input, O_RDONLY);
    const File out(out_path, O_WRONLY | O_CREAT | O_TRUNC);
    const File err(err_path, O_WRONLY | O_CREAT | O_TRUNC);
    if ((!tool.input.empty() && in.fd() < 0) || out.fd() < 0 || err.fd() < 0) {
      return absl::InternalError("cannot keep in " + tool.folder + " what " + tool.argv[0] +
                                 " reads and prints");
    }
    spec.descriptors = {in.fd(), out.fd(), err.fd()};
    process = Spawn(spec);
  }
  if (!process.ok()) return process.status();
  const double begin = SystemClock().SteadySeconds();
  ToolOutput output;
  ExitStatus status;
  bool cancelled = false;
  while (!(status = WaitProcess(*process, kLookSeconds)).exited) {
    cancelled = stopped && stopped();
    output.timed_out = SystemClock().SteadySeconds() - begin > tool.seconds;
    if (cancelled || output.timed_out) break;
  }
  const ExitStatus killed = KillProcessGroup(*process, 0);  // children may live on in the group
  if (process->pidfd >= 0) close(process->pidfd);
  output.exit_code = status.exited ? status.code : killed.code;
  output.out = ReadStart(out_path, tool.most_bytes);
  output.err = ReadStart(err_path, std::max(tool.most_bytes, kLeastErrorBytes));
  std::error_code ignored;
  fs::remove(out_path, ignored);
  fs::remove(err_path, ignored);
  if (cancelled) return absl::CancelledError("stopped");
  return output;
}

bool WriteWhole(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return static_cast<bool>(out);
}

std::string ReadStart(const std::string& path, std::size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  std::string bytes(most_bytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(most_bytes));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

}  // namespace kbench::profile
