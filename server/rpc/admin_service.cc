#include "server/rpc/admin_service.h"

#include "server/rpc/reply.h"

namespace kbench::server {

grpc::Status AdminService::DrainDevice(grpc::ServerContext*,
                                       const kbench::v1::DrainDeviceRequest* request,
                                       kbench::v1::Device* device) {
  return Reply(
      coordinator_.BlockDevice(request->device(), "drain", request->reason(), request->owner()),
      device);
}

grpc::Status AdminService::QuarantineDevice(grpc::ServerContext*,
                                            const kbench::v1::QuarantineDeviceRequest* request,
                                            kbench::v1::Device* device) {
  return Reply(coordinator_.BlockDevice(request->device(), "quarantine", request->reason(),
                                        request->owner()),
               device);
}

grpc::Status AdminService::ResumeDevice(grpc::ServerContext*,
                                        const kbench::v1::ResumeDeviceRequest* request,
                                        kbench::v1::Device* device) {
  return Reply(coordinator_.ResumeDevice(request->device(), request->owner()), device);
}

grpc::Status AdminService::SetDefaultDevice(grpc::ServerContext*,
                                            const kbench::v1::SetDefaultDeviceRequest* request,
                                            kbench::v1::SetDefaultDeviceResponse*) {
  return ToGrpc(coordinator_.SetDefaultDevice(request->device(), request->owner()));
}

}  // namespace kbench::server
