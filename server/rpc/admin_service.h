// AdminService over the coordinator (devices and defaults) and the store's keeper. Thread-safe.
#pragma once

#include "kbench/v1/admin_service.grpc.pb.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/store_keeper.h"

namespace kbench::server {

class AdminService final : public kbench::v1::AdminService::Service {
 public:
  AdminService(Coordinator& coordinator, StoreKeeper& keeper)
      : coordinator_(coordinator), keeper_(keeper) {}

  grpc::Status DrainDevice(grpc::ServerContext* context,
                           const kbench::v1::DrainDeviceRequest* request,
                           kbench::v1::Device* device) override;
  grpc::Status QuarantineDevice(grpc::ServerContext* context,
                                const kbench::v1::QuarantineDeviceRequest* request,
                                kbench::v1::Device* device) override;
  grpc::Status ResumeDevice(grpc::ServerContext* context,
                            const kbench::v1::ResumeDeviceRequest* request,
                            kbench::v1::Device* device) override;
  // One's own default may be set by whoever may submit, everybody's by an admin.
  grpc::Status SetDefaultDevice(grpc::ServerContext* context,
                                const kbench::v1::SetDefaultDeviceRequest* request,
                                kbench::v1::SetDefaultDeviceResponse* response) override;
  grpc::Status Backup(grpc::ServerContext* context, const kbench::v1::BackupRequest* request,
                      kbench::v1::BackupResponse* response) override;
  grpc::Status GetStore(grpc::ServerContext* context, const kbench::v1::GetStoreRequest* request,
                        kbench::v1::StoreInfo* info) override;

 private:
  Coordinator& coordinator_;
  StoreKeeper& keeper_;
};

}  // namespace kbench::server
