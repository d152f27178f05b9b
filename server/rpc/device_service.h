// DeviceService over the coordinator. Thread-safe.
#pragma once

#include "kbench/v1/device_service.grpc.pb.h"
#include "server/rpc/coordinator.h"

namespace kbench::server {

class DeviceService final : public kbench::v1::DeviceService::Service {
 public:
  explicit DeviceService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::Status ListDevices(grpc::ServerContext* context,
                           const kbench::v1::ListDevicesRequest* request,
                           kbench::v1::ListDevicesResponse* response) override;
  grpc::Status GetDevice(grpc::ServerContext* context, const kbench::v1::GetDeviceRequest* request,
                         kbench::v1::Device* device) override;
  grpc::Status ListKernels(grpc::ServerContext* context,
                           const kbench::v1::ListKernelsRequest* request,
                           kbench::v1::ListKernelsResponse* response) override;

 private:
  Coordinator& coordinator_;
};

}  // namespace kbench::server
