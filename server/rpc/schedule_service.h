// ScheduleService: whose schedule it is, and the keeper does the rest. Thread-safe.
#pragma once

#include "kbench/v1/schedule_service.grpc.pb.h"
#include "server/rpc/schedule_keeper.h"

namespace kbench::server {

class ScheduleService final : public kbench::v1::ScheduleService::Service {
 public:
  explicit ScheduleService(ScheduleKeeper& keeper) : keeper_(keeper) {}

  grpc::Status SetSchedule(grpc::ServerContext* context,
                           const kbench::v1::SetScheduleRequest* request,
                           kbench::v1::Schedule* schedule) override;
  grpc::Status ListSchedules(grpc::ServerContext* context,
                             const kbench::v1::ListSchedulesRequest* request,
                             kbench::v1::ListSchedulesResponse* response) override;
  grpc::Status PauseSchedule(grpc::ServerContext* context,
                             const kbench::v1::PauseScheduleRequest* request,
                             kbench::v1::Schedule* schedule) override;
  grpc::Status DeleteSchedule(grpc::ServerContext* context,
                              const kbench::v1::DeleteScheduleRequest* request,
                              google::protobuf::Empty* response) override;

 private:
  ScheduleKeeper& keeper_;
};

}  // namespace kbench::server
