#include "client/stack/layout.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "proto/support/paths.h"

namespace kbench::client {
namespace {

constexpr char kWorkerPrefix[] = "kbench-worker-";
constexpr char kPidSuffix[] = ".pid";

std::string FileWord(std::string device) {
  for (char& c : device) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  }
  return device;
}

bool IsSlice(const std::string& device) { return device.rfind("cpu:", 0) == 0; }

}  // namespace

std::string ServerPidPath() { return RuntimeDir() + "/" + kServerProgram + kPidSuffix; }

std::string WorkerPidPath(const std::string& device) {
  return RuntimeDir() + "/" + kWorkerPrefix + FileWord(device) + kPidSuffix;
}

std::vector<std::pair<std::string, std::string>> WorkerPidPaths() {
  std::vector<std::pair<std::string, std::string>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(RuntimeDir(), error)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(kWorkerPrefix) || !file.ends_with(kPidSuffix)) continue;
    const std::size_t start = sizeof(kWorkerPrefix) - 1;
    found.emplace_back(file.substr(start, file.size() - start - (sizeof(kPidSuffix) - 1)),
                       entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string LogDir() { return DataDir() + "/log"; }

DaemonSpec ServerSpec(const std::string& metrics_listen) {
  return {{ProgramDir() + "/" + kServerProgram, "--listen", "unix:" + DefaultSocketPath(),
           "--metrics-listen", metrics_listen, "--data-dir", DataDir()},
          ServerPidPath(),
          LogDir() + "/" + kServerProgram + ".log"};
}

DaemonSpec WorkerSpec(const std::string& device) {
  DaemonSpec spec{{ProgramDir() + "/" + kWorkerProgram, "--server", "unix:" + DefaultSocketPath(),
                   "--device", device, "--grace", "0"},  // `down` is quick: the case is handed back
                  WorkerPidPath(device),
                  LogDir() + "/" + kWorkerPrefix + FileWord(device) + ".log"};
  if (IsSlice(device)) spec.argv.insert(spec.argv.end(), {"--name", DeviceName(device)});
  return spec;
}

std::string DeviceName(const std::string& device) {
  if (device == "cpu") return "cpu";
  if (IsSlice(device)) return FileWord(device);
  const bool index = !device.empty() && std::all_of(device.begin(), device.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  return index ? "gpu" + device : "";
}

ServerNote ReadServerNote() {
  std::ifstream file(DataDir() + "/server.json");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  google::protobuf::Struct note;
  ServerNote result;
  if (!google::protobuf::util::JsonStringToMessage(text, &note).ok()) return result;
  const auto& fields = note.fields();
  if (const auto found = fields.find("metrics"); found != fields.end()) {
    result.metrics = found->second.string_value();
  }
  if (const auto found = fields.find("pid"); found != fields.end()) {
    result.pid = static_cast<int>(found->second.number_value());
  }
  return result;
}

}  // namespace kbench::client
