#include "server/rpc/device_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/rpc_status.h"
#include "server/auth/caller.h"

namespace kbench::server {

namespace {

// Hidden implementations are listed nowhere; selecting goes by the coordinator's own table.
void LeaveOutHidden(kbench::v1::Device* device) {
  auto* all = device->mutable_implementations();
  all->erase(std::remove_if(all->begin(), all->end(), [](const auto& one) { return one.hidden(); }),
             all->end());
}

}  // namespace

grpc::Status DeviceService::ListDevices(grpc::ServerContext*,
                                        const kbench::v1::ListDevicesRequest* request,
                                        kbench::v1::ListDevicesResponse* response) {
  const absl::StatusOr<std::string> owner = auth::CurrentCaller().OwnerOf(request->owner());
  if (!owner.ok()) return ToGrpc(owner.status());
  for (kbench::v1::Device& device : coordinator_.Devices()) {
    LeaveOutHidden(&device);
    *response->add_devices() = std::move(device);
  }
  const auto [chosen, is_owners] = coordinator_.DefaultDeviceOf(*owner);
  response->set_default_device(chosen);
  response->set_default_is_owners(is_owners);
  response->set_everybodys_default(coordinator_.DefaultDeviceOf("").first);
  response->set_server_version(KBENCH_VERSION);
  return grpc::Status::OK;
}

grpc::Status DeviceService::GetDevice(grpc::ServerContext*,
                                      const kbench::v1::GetDeviceRequest* request,
                                      kbench::v1::Device* device) {
  const std::string& name = request->name();
  const std::string stable = name.rfind("devices/", 0) == 0 ? name.substr(8) : name;
  std::vector<std::string> known;
  for (kbench::v1::Device& candidate : coordinator_.Devices()) {
    if (candidate.name() == stable || (!stable.empty() && candidate.uuid() == stable)) {
      LeaveOutHidden(&candidate);
      *device = std::move(candidate);
      return grpc::Status::OK;
    }
    known.push_back(candidate.name());
  }
  const std::string names = fmt::format("{}", fmt::join(known, ", "));
  return ToGrpc(MakeError(absl::StatusCode::kNotFound,
                          known.empty()
                              ? "no device is known: no worker has connected yet"
                              : "there is no device " + stable + "; known devices: " + names,
                          {.reason = "UNKNOWN_DEVICE", .metadata = {{"devices", names}}}));
}

grpc::Status DeviceService::ListKernels(grpc::ServerContext*, const kbench::v1::ListKernelsRequest*,
                                        kbench::v1::ListKernelsResponse* response) {
  *response = coordinator_.Kernels();
  return grpc::Status::OK;
}

}  // namespace kbench::server
