#include "server/auth/methods.h"

namespace kbench::server::auth {

const std::vector<Method>& Methods() {
  static const auto* table = new std::vector<Method>{
      {"/kbench.v1.AccountService/WhoAmI", Role::kNone, false},

      {"/kbench.v1.AdminService/Backup", Role::kAdmin, true},
      {"/kbench.v1.AdminService/DrainDevice", Role::kAdmin, true},
      {"/kbench.v1.AdminService/GetStore", Role::kAdmin, false},
      {"/kbench.v1.AdminService/QuarantineDevice", Role::kAdmin, true},
      {"/kbench.v1.AdminService/ResumeDevice", Role::kAdmin, true},
      {"/kbench.v1.AdminService/SetDefaultDevice", Role::kSubmitter, true},  // everybody's: admin

      {"/kbench.v1.DeviceService/GetDevice", Role::kViewer, false},
      {"/kbench.v1.DeviceService/ListDevices", Role::kViewer, false},
      {"/kbench.v1.DeviceService/ListKernels", Role::kViewer, false},

      {"/kbench.v1.JobService/CancelJob", Role::kSubmitter, true},
      {"/kbench.v1.JobService/EndHold", Role::kSubmitter, true},
      {"/kbench.v1.JobService/ExplainJob", Role::kViewer, false},
      {"/kbench.v1.JobService/GetJob", Role::kViewer, false},
      {"/kbench.v1.JobService/GetQueue", Role::kViewer, false},
      // A sign of life every few seconds, which changes nothing that lasts.
      {"/kbench.v1.JobService/KeepHold", Role::kSubmitter, false},
      {"/kbench.v1.JobService/ListJobs", Role::kViewer, false},
      {"/kbench.v1.JobService/SubmitJob", Role::kSubmitter, true},
      {"/kbench.v1.JobService/WatchJob", Role::kViewer, false},
      {"/kbench.v1.JobService/WatchQueue", Role::kViewer, false},

      {"/kbench.v1.ResultService/CompareResults", Role::kViewer, false},
      {"/kbench.v1.ResultService/GetArtifact", Role::kViewer, false},
      {"/kbench.v1.ResultService/GetResult", Role::kViewer, false},
      {"/kbench.v1.ResultService/ListArtifacts", Role::kViewer, false},
      {"/kbench.v1.ResultService/ListResults", Role::kViewer, false},

      {"/kbench.v1.ScheduleService/DeleteSchedule", Role::kSubmitter, true},
      {"/kbench.v1.ScheduleService/ListSchedules", Role::kViewer, false},
      {"/kbench.v1.ScheduleService/PauseSchedule", Role::kSubmitter, true},
      {"/kbench.v1.ScheduleService/SetSchedule", Role::kSubmitter, true},

      {"/kbench.v1.WorkerService/Connect", Role::kWorker, true},
  };
  return *table;
}

const Method* FindMethod(const std::string& path) {
  for (const Method& method : Methods()) {
    if (path == method.path) return &method;
  }
  return nullptr;
}

}  // namespace kbench::server::auth
