#include "server/rpc/admin_service.h"

#include "proto/support/error.h"
#include "server/auth/caller.h"
#include "server/rpc/reply.h"

namespace kbench::server {

grpc::Status AdminService::DrainDevice(grpc::ServerContext*,
                                       const kbench::v1::DrainDeviceRequest* request,
                                       kbench::v1::Device* device) {
  const std::string by = auth::CurrentCaller().OwnerOf(request->owner());
  return Reply(coordinator_.BlockDevice(request->device(), "drain", request->reason(), by), device);
}

grpc::Status AdminService::QuarantineDevice(grpc::ServerContext*,
                                            const kbench::v1::QuarantineDeviceRequest* request,
                                            kbench::v1::Device* device) {
  const std::string by = auth::CurrentCaller().OwnerOf(request->owner());
  return Reply(coordinator_.BlockDevice(request->device(), "quarantine", request->reason(), by),
               device);
}

grpc::Status AdminService::ResumeDevice(grpc::ServerContext*,
                                        const kbench::v1::ResumeDeviceRequest* request,
                                        kbench::v1::Device* device) {
  const std::string by = auth::CurrentCaller().OwnerOf(request->owner());
  return Reply(coordinator_.ResumeDevice(request->device(), by), device);
}

grpc::Status AdminService::SetDefaultDevice(grpc::ServerContext*,
                                            const kbench::v1::SetDefaultDeviceRequest* request,
                                            kbench::v1::SetDefaultDeviceResponse*) {
  const auth::Caller& caller = auth::CurrentCaller();
  const bool everybodys = request->owner().empty();
  if (everybodys && !caller.is_admin()) {
    return ToGrpc(MakeError(absl::StatusCode::kPermissionDenied,
                            "the default for everybody is an admin's to set; set your own, without "
                            "--for-everybody",
                            {.reason = "FOR_EVERYBODY"}));
  }
  return ToGrpc(coordinator_.SetDefaultDevice(request->device(),
                                              everybodys ? "" : caller.OwnerOf(request->owner())));
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
