#include "worker/profile/disassemble.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "fmt/format.h"
#include "worker/profile/tool.h"

namespace kbench::profile {

absl::StatusOr<std::string> Disassemble(const std::string& program, const std::string& cubin,
                                        const std::vector<std::string>& functions, double seconds,
                                        std::size_t most_bytes,
                                        const std::function<bool()>& stopped) {
  const std::filesystem::path path(program);
  Tool tool;
  tool.argv = {program};
  if (path.filename() == "nvdisasm") {
    tool.argv.push_back("--print-code");
  } else {
    std::string names;
    for (const std::string& function : functions) names += (names.empty() ? "" : ",") + function;
    tool.argv.insert(tool.argv.end(), {"--dump-sass", "--function", names});
  }
  tool.argv.push_back(cubin);
  // cuobjdump looks for nvdisasm on the PATH.
  const char* search = std::getenv("PATH");
  tool.env["PATH"] = path.parent_path().string() + (search == nullptr ? "" : ":") +
                     (search == nullptr ? "" : search);
  tool.folder = std::filesystem::path(cubin).parent_path().string();
  tool.seconds = seconds;
  tool.most_bytes = most_bytes;
  absl::StatusOr<ToolOutput> run = RunTool(tool, stopped);
  if (!run.ok()) return run.status();
  if (run->timed_out) {
    return absl::DeadlineExceededError(
        fmt::format("{} was not done within {:.0f} s", path.filename().string(), seconds));
  }
  if (run->exit_code != 0 || run->out.empty()) {
    return absl::InternalError(fmt::format("{} ended with exit code {}: {}",
                                           path.filename().string(), run->exit_code,
                                           run->err.substr(0, run->err.find('\n'))));
  }
  return std::move(run->out);
}

}  // namespace kbench::profile
