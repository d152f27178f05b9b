// AccountService: whom the gate takes the caller for. Thread-safe.
#pragma once

#include "kbench/v1/account_service.grpc.pb.h"

namespace kbench::server {

class AccountService final : public kbench::v1::AccountService::Service {
 public:
  grpc::Status WhoAmI(grpc::ServerContext* context, const kbench::v1::WhoAmIRequest* request,
                      kbench::v1::WhoAmIResponse* response) override;
};

}  // namespace kbench::server
