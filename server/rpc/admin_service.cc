#include "server/rpc/admin_service.h"

#include "server/rpc/reply.h"

namespace kbench::server {

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
