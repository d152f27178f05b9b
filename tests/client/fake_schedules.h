// Schedules of a coordinator, as a test tells them. Used from one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kbench/v1/schedule_service.grpc.pb.h"
#include "proto/support/rpc_status.h"

namespace kbench::client::testing {

class FakeSchedules final : public kbench::v1::ScheduleService::Service {
 public:
  // Answers with what was asked for, and a time.
  grpc::Status SetSchedule(grpc::ServerContext*, const kbench::v1::SetScheduleRequest* request,
                           kbench::v1::Schedule* reply) override {
    set.push_back(*request);
    *reply = request->schedule();
    reply->clear_jobs();
    reply->mutable_next_time()->set_seconds(1'700'000'000);
    return ToGrpc(status);
  }
  grpc::Status ListSchedules(grpc::ServerContext*, const kbench::v1::ListSchedulesRequest*,
                             kbench::v1::ListSchedulesResponse* reply) override {
    *reply = schedules;
    return ToGrpc(status);
  }
  grpc::Status PauseSchedule(grpc::ServerContext*, const kbench::v1::PauseScheduleRequest* request,
                             kbench::v1::Schedule* reply) override {
    paused.push_back(*request);
    reply->set_name(request->name());
    reply->set_at("02:00");
    reply->set_paused(request->paused());
    return ToGrpc(status);
  }
  grpc::Status DeleteSchedule(grpc::ServerContext*,
                              const kbench::v1::DeleteScheduleRequest* request,
                              google::protobuf::Empty*) override {
    deleted.push_back(request->name());
    return ToGrpc(status);
  }

  kbench::v1::ListSchedulesResponse schedules;
  absl::Status status;
  std::vector<kbench::v1::SetScheduleRequest> set;
  std::vector<kbench::v1::PauseScheduleRequest> paused;
  std::vector<std::string> deleted;
};

}  // namespace kbench::client::testing
