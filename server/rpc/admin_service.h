// AdminService over the coordinator and the store's keeper. Thread-safe.
#pragma once

#include "kbench/v1/admin_service.grpc.pb.h"
#include "server/rpc/store_keeper.h"

namespace kbench::server {

class AdminService final : public kbench::v1::AdminService::Service {
 public:
  explicit AdminService(StoreKeeper& keeper) : keeper_(keeper) {}

  grpc::Status Backup(grpc::ServerContext* context, const kbench::v1::BackupRequest* request,
                      kbench::v1::BackupResponse* response) override;
  grpc::Status GetStore(grpc::ServerContext* context, const kbench::v1::GetStoreRequest* request,
                        kbench::v1::StoreInfo* info) override;

 private:
  StoreKeeper& keeper_;
};

}  // namespace kbench::server
