#include "server/rpc/schedule_service.h"

#include <utility>

#include "proto/support/rpc_status.h"
#include "server/auth/caller.h"
#include "server/rpc/reply.h"

namespace kbench::server {
namespace {

using kbench::v1::Schedule;

// There may be none of this name: then whoever comes may make it.
absl::Status CheckMayChange(ScheduleKeeper& keeper, const std::string& name, const char* verb) {
  auth::NoteSubject("schedule " + name);
  const std::string owner = keeper.OwnerOf(name);
  if (owner.empty()) return absl::OkStatus();
  return auth::CurrentCaller().CheckMayChange(owner, std::string(verb) + " the schedule " + name);
}

}  // namespace

grpc::Status ScheduleService::SetSchedule(grpc::ServerContext*,
                                          const kbench::v1::SetScheduleRequest* request,
                                          Schedule* schedule) {
  const absl::Status allowed = CheckMayChange(keeper_, request->schedule().name(), "replace");
  if (!allowed.ok()) return ToGrpc(allowed);
  Schedule asked = request->schedule();
  absl::StatusOr<std::string> owner = auth::CurrentCaller().OwnerOf(asked.owner());
  if (!owner.ok()) return ToGrpc(owner.status());
  asked.set_owner(*std::move(owner));
  return Reply(keeper_.Set(std::move(asked)), schedule);
}

grpc::Status ScheduleService::ListSchedules(grpc::ServerContext*,
                                            const kbench::v1::ListSchedulesRequest*,
                                            kbench::v1::ListSchedulesResponse* response) {
  for (Schedule& one : keeper_.All()) *response->add_schedules() = std::move(one);
  return grpc::Status::OK;
}

grpc::Status ScheduleService::PauseSchedule(grpc::ServerContext*,
                                            const kbench::v1::PauseScheduleRequest* request,
                                            Schedule* schedule) {
  const absl::Status allowed = CheckMayChange(keeper_, request->name(), "pause");
  if (!allowed.ok()) return ToGrpc(allowed);
  return Reply(keeper_.Pause(request->name(), request->paused()), schedule);
}

grpc::Status ScheduleService::DeleteSchedule(grpc::ServerContext*,
                                             const kbench::v1::DeleteScheduleRequest* request,
                                             google::protobuf::Empty*) {
  const absl::Status allowed = CheckMayChange(keeper_, request->name(), "delete");
  return ToGrpc(allowed.ok() ? keeper_.Delete(request->name()) : allowed);
}

}  // namespace kbench::server
