#include "server/rpc/admin_service.h"

#include "proto/support/error.h"
#include "server/auth/caller.h"
#include "server/rpc/reply.h"

namespace kbench::server {

namespace {

using kbench::v1::Device;

// Who asks, of which device: as typed, for one that is not known too.
template <typename Request>
absl::StatusOr<std::string> AskedBy(const Request& request) {
  auth::NoteDevice(request.device());
  return auth::CurrentCaller().OwnerOf(request.owner());
}

absl::Status CheckMaySetEverybodys() {
  if (auth::CurrentCaller().is_admin()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kPermissionDenied,
                   "the default for everybody is an admin's to set; set your own, without "
                   "--for-everybody",
                   {.reason = "FOR_EVERYBODY"});
}

}  // namespace

grpc::Status AdminService::DrainDevice(grpc::ServerContext*,
                                       const kbench::v1::DrainDeviceRequest* request,
                                       Device* device) {
  const auto by = AskedBy(*request);
  if (!by.ok()) return ToGrpc(by.status());
  return Reply(coordinator_.BlockDevice(request->device(), "drain", request->reason(), *by),
               device);
}

grpc::Status AdminService::QuarantineDevice(grpc::ServerContext*,
                                            const kbench::v1::QuarantineDeviceRequest* request,
                                            Device* device) {
  const auto by = AskedBy(*request);
  if (!by.ok()) return ToGrpc(by.status());
  return Reply(coordinator_.BlockDevice(request->device(), "quarantine", request->reason(), *by),
               device);
}

grpc::Status AdminService::ResumeDevice(grpc::ServerContext*,
                                        const kbench::v1::ResumeDeviceRequest* request,
                                        Device* device) {
  const auto by = AskedBy(*request);
  if (!by.ok()) return ToGrpc(by.status());
  return Reply(coordinator_.ResumeDevice(request->device(), request->kind(), *by), device);
}

grpc::Status AdminService::SetDefaultDevice(grpc::ServerContext*,
                                            const kbench::v1::SetDefaultDeviceRequest* request,
                                            kbench::v1::SetDefaultDeviceResponse*) {
  const auto owner = AskedBy(*request);
  const bool everybodys = request->owner().empty();
  const absl::Status allowed = everybodys ? CheckMaySetEverybodys() : owner.status();
  if (!allowed.ok()) return ToGrpc(allowed);
  return ToGrpc(coordinator_.SetDefaultDevice(request->device(), everybodys ? "" : *owner));
}

grpc::Status AdminService::Backup(grpc::ServerContext*, const kbench::v1::BackupRequest* request,
                                  kbench::v1::BackupResponse* response) {
  return Reply(keeper_.Backup(*request), response);
}

grpc::Status AdminService::GetStore(grpc::ServerContext*,
                                    const kbench::v1::GetStoreRequest* request,
                                    kbench::v1::StoreInfo* info) {
  return Reply(keeper_.Info(*request), info);
}

}  // namespace kbench::server
