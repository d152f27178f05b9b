#include "worker/daemon/device_identity.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "proto/support/error.h"
#include "proto/support/json.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

std::string PathOf(const std::string& data_dir, const std::string& spec) {
  return data_dir + "/identity/" + spec + ".json";
}

bool IsUuid(const std::string& spec) {
  return spec.rfind("GPU-", 0) == 0 || spec.rfind("MIG-", 0) == 0;
}

}  // namespace

absl::Status SaveIdentity(const std::string& data_dir, const std::string& spec,
                          const v1::Device& device) {
  KB_RETURN_IF_ERROR(EnsureWritableDir(data_dir + "/identity"));
  KB_ASSIGN_OR_RETURN(const std::string frame, ToFrame(device));
  const std::string path = PathOf(data_dir, spec);
  std::ofstream file(path + ".new");
  file << frame;
  file.close();
  std::error_code error;
  if (!file.fail()) std::filesystem::rename(path + ".new", path, error);
  if (file.fail() || error) return absl::UnavailableError(path + " cannot be written");
  return absl::OkStatus();
}

absl::StatusOr<v1::Device> LoadIdentity(const std::string& data_dir, const std::string& spec,
                                        const std::string& name) {
  v1::Device device;
  std::ifstream file(PathOf(data_dir, spec));
  std::stringstream text;
  text << file.rdbuf();
  const bool saved = file.is_open() && FromFrame(text.str(), &device).ok() &&
                     device.kind() == "cuda" && !device.name().empty() && !device.uuid().empty();
  if (!saved) {
    device.Clear();
    if (!IsUuid(spec) || name.empty()) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       "which device this is cannot be told without the driver; give --device "
                       "GPU-<uuid> and --name, or restart the machine",
                       {.reason = "DRIVER_MISMATCH"});
    }
    device.set_kind("cuda");
    device.set_uuid(spec);
  }
  if (!name.empty()) device.set_name(name);
  return device;
}

}  // namespace kbench
