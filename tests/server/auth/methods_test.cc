// The table of roles against the schema.
#include "server/auth/methods.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>

#include "kbench/v1/account_service.pb.h"
#include "kbench/v1/admin_service.pb.h"
#include "kbench/v1/device_service.pb.h"
#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/job_service.pb.h"
#include "kbench/v1/result_service.pb.h"
#include "kbench/v1/schedule_service.pb.h"
#include "kbench/v1/worker_service.pb.h"

namespace kbench::server::auth {
namespace {

// The files are named by one message each: a linker drops what nobody mentions.
const std::vector<const google::protobuf::FileDescriptor*>& Files() {
  static const auto* files = new std::vector<const google::protobuf::FileDescriptor*>{
      kbench::v1::WhoAmIRequest::descriptor()->file(),
      kbench::v1::BackupRequest::descriptor()->file(),
      kbench::v1::ListDevicesRequest::descriptor()->file(),
      kbench::v1::ListCellsRequest::descriptor()->file(),
      kbench::v1::SubmitJobRequest::descriptor()->file(),
      kbench::v1::GetResultRequest::descriptor()->file(),
      kbench::v1::ListSchedulesRequest::descriptor()->file(),
      kbench::v1::WorkerMessage::descriptor()->file()};
  return *files;
}

TEST(Methods, EveryMethodOfEveryServiceHasARole) {
  std::set<std::string> of_schema;
  for (const auto* file : Files()) {
    ASSERT_GE(file->service_count(), 1) << file->name();
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const auto* method = file->service(s)->method(m);
        of_schema.insert("/" + file->service(s)->full_name() + "/" + method->name());
      }
    }
  }
  std::set<std::string> of_table;
  for (const Method& method : Methods()) {
    EXPECT_TRUE(of_table.insert(method.path).second) << method.path << " stands there twice";
  }
  EXPECT_EQ(of_table, of_schema);
  EXPECT_EQ(FindMethod("/kbench.v1.JobService/NoSuch"), nullptr);
}

TEST(Methods, TheServicesOfAdminsAndWorkersAreTheirs) {
  for (const Method& method : Methods()) {
    const std::string path = method.path;
    const bool admin = path.find(".AdminService/") != std::string::npos;
    const bool worker = path.find(".WorkerService/") != std::string::npos;
    // Who submits sets a default of their own; everybody's is for the handler to refuse.
    const bool own_too = path == "/kbench.v1.AdminService/SetDefaultDevice";
    EXPECT_EQ(method.least == Role::kAdmin, admin && !own_too) << path;
    EXPECT_EQ(method.least == Role::kWorker, worker) << path;
  }
}

}  // namespace
}  // namespace kbench::server::auth
