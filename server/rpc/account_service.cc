#include "server/rpc/account_service.h"

#include "proto/support/clock.h"
#include "server/auth/caller.h"

namespace kbench::server {

grpc::Status AccountService::WhoAmI(grpc::ServerContext*, const kbench::v1::WhoAmIRequest*,
                                    kbench::v1::WhoAmIResponse* response) {
  const auth::Caller& caller = auth::CurrentCaller();
  response->set_owner(caller.owner);
  response->set_role(auth::RoleName(caller.role));
  response->set_credential(caller.credential);
  if (caller.expire_micros > 0) {
    *response->mutable_expire_time() = ToTimestamp(caller.expire_micros);
  }
  response->set_server_version(KBENCH_VERSION);
  return grpc::Status::OK;
}

}  // namespace kbench::server
