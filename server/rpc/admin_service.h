// AdminService over the coordinator: devices and defaults. Thread-safe.
#pragma once

#include "kbench/v1/admin_service.grpc.pb.h"
#include "server/rpc/coordinator.h"

namespace kbench::server {

class AdminService final : public kbench::v1::AdminService::Service {
 public:
  explicit AdminService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::Status DrainDevice(grpc::ServerContext* context,
                           const kbench::v1::DrainDeviceRequest* request,
                           kbench::v1::Device* device) override;
  grpc::Status QuarantineDevice(grpc::ServerContext* context,
                                const kbench::v1::QuarantineDeviceRequest* request,
                                kbench::v1::Device* device) override;
  grpc::Status ResumeDevice(grpc::ServerContext* context,
                            const kbench::v1::ResumeDeviceRequest* request,
                            kbench::v1::Device* device) override;
  grpc::Status SetDefaultDevice(grpc::ServerContext* context,
                                const kbench::v1::SetDefaultDeviceRequest* request,
                                kbench::v1::SetDefaultDeviceResponse* response) override;

 private:
  Coordinator& coordinator_;
};

}  // namespace kbench::server
