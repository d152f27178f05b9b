#include "server/auth/methods.h"

namespace kbench::server::auth {

const std::vector<Method>& Methods() {
  static const auto* table = new std::vector<Method>{
      {"/kbench.v1.AccountService/WhoAmI", Role::kNone, false, "asking who one is"},

      {"/kbench.v1.AdminService/Backup", Role::kAdmin, true, "a backup"},
      {"/kbench.v1.AdminService/DrainDevice", Role::kAdmin, true, "draining a device"},
      {"/kbench.v1.AdminService/GetStore", Role::kAdmin, false, "looking into the store"},
      {"/kbench.v1.AdminService/QuarantineDevice", Role::kAdmin, true,
       "putting a device into quarantine"},
      {"/kbench.v1.AdminService/ResumeDevice", Role::kAdmin, true, "resuming a device"},
      {"/kbench.v1.AdminService/SetDefaultDevice", Role::kSubmitter, true,
       "setting a default device"},  // everybody's: admin

      {"/kbench.v1.DeviceService/GetDevice", Role::kViewer, false, "looking at devices"},
      {"/kbench.v1.DeviceService/ListDevices", Role::kViewer, false, "looking at devices"},
      {"/kbench.v1.DeviceService/ListKernels", Role::kViewer, false, "looking at kernels"},

      {"/kbench.v1.HistoryService/CompareEpochs", Role::kViewer, false, "looking at results"},
      {"/kbench.v1.HistoryService/DropBaseline", Role::kSubmitter, true, "dropping a baseline"},
      {"/kbench.v1.HistoryService/GetHistory", Role::kViewer, false, "looking at results"},
      {"/kbench.v1.HistoryService/ListCells", Role::kViewer, false, "looking at results"},
      {"/kbench.v1.HistoryService/PinBaseline", Role::kSubmitter, true, "pinning a baseline"},
      {"/kbench.v1.HistoryService/Why", Role::kViewer, false, "looking at results"},

      {"/kbench.v1.JobService/CancelJob", Role::kSubmitter, true, "cancelling a job"},
      {"/kbench.v1.JobService/EndHold", Role::kSubmitter, true, "giving a device back"},
      {"/kbench.v1.JobService/ExplainJob", Role::kViewer, false, "looking at jobs"},
      {"/kbench.v1.JobService/GetJob", Role::kViewer, false, "looking at jobs"},
      {"/kbench.v1.JobService/GetQueue", Role::kViewer, false, "looking at the queue"},
      // A sign of life every few seconds, which changes nothing that lasts.
      {"/kbench.v1.JobService/KeepHold", Role::kSubmitter, false, "holding a device"},
      {"/kbench.v1.JobService/ListJobs", Role::kViewer, false, "looking at jobs"},
      {"/kbench.v1.JobService/SubmitJob", Role::kSubmitter, true,
       "submitting a job or holding a device"},
      {"/kbench.v1.JobService/WatchJob", Role::kViewer, false, "looking at jobs"},
      {"/kbench.v1.JobService/WatchQueue", Role::kViewer, false, "looking at the queue"},

      {"/kbench.v1.ResultService/CompareResults", Role::kViewer, false, "looking at results"},
      {"/kbench.v1.ResultService/GetArtifact", Role::kViewer, false, "looking at results"},
      {"/kbench.v1.ResultService/GetResult", Role::kViewer, false, "looking at results"},
      {"/kbench.v1.ResultService/ListArtifacts", Role::kViewer, false, "looking at results"},
      {"/kbench.v1.ResultService/ListResults", Role::kViewer, false, "looking at results"},

      {"/kbench.v1.ScheduleService/DeleteSchedule", Role::kSubmitter, true, "deleting a schedule"},
      {"/kbench.v1.ScheduleService/ListSchedules", Role::kViewer, false, "looking at schedules"},
      {"/kbench.v1.ScheduleService/PauseSchedule", Role::kSubmitter, true, "pausing a schedule"},
      {"/kbench.v1.ScheduleService/SetSchedule", Role::kSubmitter, true, "scheduling a suite"},

      {"/kbench.v1.WorkerService/Connect", Role::kWorker, true, "offering a device"},
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
