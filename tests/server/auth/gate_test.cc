// The whole server behind its gate: who may call what, by every way in.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include "kbench/v1/account_service.grpc.pb.h"
#include "kbench/v1/admin_service.grpc.pb.h"
#include "kbench/v1/device_service.grpc.pb.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "kbench/v1/worker_service.grpc.pb.h"
#include "proto/support/local_identity.h"
#include "proto/support/user_name.h"
#include "server/auth/methods.h"
#include "server/auth/peer.h"
#include "tests/server/auth/secured_server.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using auth::Role;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Methods of the schema that no service of the server has yet answer UNIMPLEMENTED: nothing is
// behind them that a gate could protect.
bool IsServed(const std::shared_ptr<grpc::Channel>& admin, const std::string& path) {
  return CallMethod(admin, path).code() != absl::StatusCode::kUnimplemented;
}

TEST(Gate, EveryMethodRefusesWhoBringsNoCredentials) {
  SecuredServer server;
  const auto nobody = server.NobodysChannel();
  const auto admin = server.ChannelOf(server.Invite({.owner = "root", .role = Role::kAdmin}));
  int served = 0;
  for (const auth::Method& method : auth::Methods()) {
    if (!IsServed(admin, method.path)) continue;
    ++served;
    const absl::Status refused = CallMethod(nobody, method.path);
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated) << method.path;
    EXPECT_EQ(DetailsOf(refused).reason, "NO_CREDENTIALS") << method.path;
    EXPECT_THAT(MessageOf(refused), HasSubstr("kbench-client join")) << method.path;
  }
  EXPECT_GE(served, 16);
}

TEST(Gate, EveryMethodWantsItsRole) {
  SecuredServer server;
  const auto admin = server.ChannelOf(server.Invite({.owner = "root", .role = Role::kAdmin}));
  for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kCode, Role::kWorker}) {
    const auto channel = server.ChannelOf(server.Invite({.owner = "ana", .role = role}));
    for (const auth::Method& method : auth::Methods()) {
      if (!IsServed(admin, method.path)) continue;
      const absl::Status answer = CallMethod(channel, method.path);
      if (auth::Includes(role, method.least)) {
        EXPECT_NE(DetailsOf(answer).reason, "ROLE_TOO_LOW") << method.path << " " << RoleName(role);
      } else {
        EXPECT_EQ(answer.code(), absl::StatusCode::kPermissionDenied)
            << method.path << " " << RoleName(role);
        EXPECT_EQ(DetailsOf(answer).reason, "ROLE_TOO_LOW");
        EXPECT_EQ(DetailsOf(answer).metadata["wanted"], RoleName(method.least));
      }
    }
  }
}

TEST(Gate, NothingIsParsedBeforeItIsAllowed) {
  SecuredServer server;
  const auto viewer = server.ChannelOf(server.Invite({.owner = "v", .role = Role::kViewer}));
  // Bytes that are no message: an open method says so, a closed one does not even look.
  grpc::GenericStub stub(viewer);
  const auto call = [&](const std::string& path) {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice bytes("\xff\xff\xff", 3);
    auto rpc = stub.PrepareUnaryCall(&context, path, grpc::ByteBuffer(&bytes, 1), &queue);
    grpc::ByteBuffer reply;
    grpc::Status status;
    rpc->StartCall();
    rpc->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status.error_code();
  };
  EXPECT_EQ(call("/kbench.v1.JobService/SubmitJob"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(call("/kbench.v1.JobService/GetJob"), grpc::StatusCode::INTERNAL);
}

kbench::v1::WhoAmIResponse WhoAmI(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = kbench::v1::AccountService::NewStub(channel);
  grpc::ClientContext context;
  kbench::v1::WhoAmIResponse account;
  const grpc::Status status = stub->WhoAmI(&context, {}, &account);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return account;
}

TEST(Gate, WhoAmIByEveryWayIn) {
  SecuredServer server;
  const auto by_token = WhoAmI(server.ChannelOf(server.Invite({.owner = "ana"})));
  EXPECT_EQ(by_token.owner(), "ana");
  EXPECT_EQ(by_token.role(), "submitter");
  EXPECT_THAT(by_token.credential(), HasSubstr("token "));
  EXPECT_TRUE(by_token.has_expire_time());
  const auto by_certificate = WhoAmI(
      server.ChannelOf(server.Invite({.owner = "bo", .role = Role::kViewer, .certificate = true})));
  EXPECT_EQ(by_certificate.owner(), "bo");
  EXPECT_EQ(by_certificate.role(), "viewer");
  EXPECT_THAT(by_certificate.credential(), HasSubstr("certificate "));
  const auto by_socket = WhoAmI(MakeChannel("unix:" + server.socket_path()));
  EXPECT_EQ(by_socket.owner(), UserName(getuid()));
  EXPECT_EQ(by_socket.role(), "admin");
}

TEST(Gate, ACommandOnTheWorkersHostWantsTheRoleCode) {
  SecuredServer server;
  kbench::v1::SubmitJobRequest request;
  kbench::v1::Hold& hold = *request.mutable_spec()->mutable_hold();
  hold.mutable_duration()->set_seconds(60);
  const auto submit = [&](auth::Role role) {
    const auto jobs = kbench::v1::JobService::NewStub(
        server.ChannelOf(server.Invite({.owner = "ana", .role = role})));
    grpc::ClientContext context;
    kbench::v1::Job job;
    return FromGrpc(jobs->SubmitJob(&context, request, &job));
  };
  hold.add_command("true");
  EXPECT_EQ(DetailsOf(submit(auth::Role::kSubmitter)).reason, "ROLE_TOO_LOW");
  EXPECT_NE(submit(auth::Role::kCode).code(), absl::StatusCode::kPermissionDenied);
  hold.clear_command();
  EXPECT_NE(submit(auth::Role::kSubmitter).code(), absl::StatusCode::kPermissionDenied);
}

TEST(Gate, TheOwnerIsTheCaller) {
  SecuredServer server;
  const auto jobs = [](const std::shared_ptr<grpc::Channel>& channel) {
    return kbench::v1::JobService::NewStub(channel);
  };
  const auto ana = jobs(server.ChannelOf(server.Invite({.owner = "ana"})));
  const auto bo = jobs(server.ChannelOf(server.Invite({.owner = "bo"})));
  const auto admin = jobs(MakeChannel("unix:" + server.socket_path()));
  kbench::v1::SubmitJobRequest request = MatmulJob();
  request.set_validate_only(true);
  request.set_owner("somebody");
  const auto owner_of = [&](kbench::v1::JobService::Stub& stub) {
    grpc::ClientContext context;
    kbench::v1::Job job;
    const grpc::Status status = stub.SubmitJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job.owner();
  };
  EXPECT_EQ(owner_of(*ana), "ana");
  EXPECT_EQ(owner_of(*admin), "somebody");

  request.set_validate_only(false);
  grpc::ClientContext context;
  kbench::v1::Job job;
  ASSERT_TRUE(ana->SubmitJob(&context, request, &job).ok());
  const auto cancel = [&](kbench::v1::JobService::Stub& stub) {
    grpc::ClientContext cancelling;
    kbench::v1::CancelJobRequest what;
    what.set_name(job.name());
    kbench::v1::Job cancelled;
    return FromGrpc(stub.CancelJob(&cancelling, what, &cancelled));
  };
  EXPECT_EQ(DetailsOf(cancel(*bo)).reason, "NOT_YOURS");
  EXPECT_EQ(cancel(*bo).code(), absl::StatusCode::kPermissionDenied);
  const auto not_yours = [](const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
  };
  kbench::v1::KeepHoldRequest keep;
  keep.set_name(job.name());
  kbench::v1::KeepHoldResponse kept;
  grpc::ClientContext keeping;
  EXPECT_TRUE(not_yours(bo->KeepHold(&keeping, keep, &kept)));
  kbench::v1::EndHoldRequest end;
  end.set_name(job.name());
  kbench::v1::Job ended;
  grpc::ClientContext ending;
  EXPECT_TRUE(not_yours(bo->EndHold(&ending, end, &ended)));
  EXPECT_TRUE(cancel(*ana).ok());
  EXPECT_TRUE(cancel(*admin).ok());
}

// As a worker of the device cpu0, which takes no job yet; until it is welcome.
void SayHello(
    grpc::ClientReaderWriter<kbench::v1::WorkerMessage, kbench::v1::CoordinatorMessage>& stream) {
  kbench::v1::WorkerMessage hello;
  hello.mutable_hello()->set_worker_id("host/cpu0");
  hello.mutable_hello()->set_boot_id("boot");
  *hello.mutable_hello()->mutable_device() = FakeDevice("cpu0", "cpu");
  hello.mutable_hello()->mutable_device()->set_state("CALIBRATING");
  ASSERT_TRUE(stream.Write(hello));
  kbench::v1::CoordinatorMessage message;
  ASSERT_TRUE(stream.Read(&message));
}

TEST(Gate, ARevokedCredentialEndsItsStreams) {
  SecuredServer server;
  const auto invited = server.Invite({.owner = "ana"});
  const auto other = server.Invite({.owner = "bo"});
  const auto jobs = kbench::v1::JobService::NewStub(server.ChannelOf(invited));
  const auto others = kbench::v1::JobService::NewStub(server.ChannelOf(other));
  kbench::v1::Job job;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(jobs->SubmitJob(&context, MatmulJob(), &job).ok());
  }
  kbench::v1::WatchJobRequest watch;
  watch.set_name(job.name());
  grpc::ClientContext context;
  grpc::ClientContext others_context;
  const auto reader = jobs->WatchJob(&context, watch);
  const auto others_reader = others->WatchJob(&others_context, watch);
  kbench::v1::JobEvent event;
  ASSERT_TRUE(reader->Read(&event));
  ASSERT_TRUE(others_reader->Read(&event));
  const auto worker_invited = server.Invite({.owner = "w", .role = Role::kWorker});
  const auto workers = kbench::v1::WorkerService::NewStub(server.ChannelOf(worker_invited));
  grpc::ClientContext worker_context;
  const auto stream = workers->Connect(&worker_context);
  SayHello(*stream);
  kbench::v1::CoordinatorMessage message;

  const std::string tokens = server.config_dir() + "/tokens";
  ASSERT_TRUE(auth::RevokeToken(tokens, invited.token.id).ok());
  ASSERT_TRUE(auth::RevokeToken(tokens, worker_invited.token.id).ok());
  while (reader->Read(&event)) {
  }
  while (stream->Read(&message)) {
  }
  for (const grpc::Status& end : {reader->Finish(), stream->Finish()}) {
    EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_THAT(end.error_message(), HasSubstr("was revoked"));
  }
  EXPECT_EQ(
      DetailsOf(CallMethod(server.ChannelOf(invited), "/kbench.v1.JobService/ListJobs")).reason,
      "REVOKED_CREDENTIALS");
  // The other one's goes on.
  grpc::ClientContext cancelling;
  kbench::v1::CancelJobRequest cancel;
  cancel.set_name(job.name());
  kbench::v1::Job ended;
  const auto admin = kbench::v1::JobService::NewStub(MakeChannel("unix:" + server.socket_path()));
  EXPECT_TRUE(admin->CancelJob(&cancelling, cancel, &ended).ok());
  bool final = false;
  while (others_reader->Read(&event)) final = final || event.has_final();
  EXPECT_TRUE(final);
  EXPECT_TRUE(others_reader->Finish().ok());
}

TEST(Gate, ASharedSocketAsksWhoCalls) {
  auth::AuthOptions access;
  access.share_socket = true;
  SecuredServer server(access);
  struct stat info {};
  ASSERT_EQ(stat(server.socket_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  const auto channel = MakeChannel("unix:" + server.socket_path());
  EXPECT_EQ(WhoAmI(channel).owner(), UserName(getuid()));
  // A restart invalidates nothing.
  server.Start();
  EXPECT_EQ(WhoAmI(channel).role(), "admin");
  // Without the interceptor of MakeChannel nobody says who calls.
  const auto plain =
      grpc::CreateChannel("unix:" + server.socket_path(), grpc::InsecureChannelCredentials());
  const absl::Status refused = CallMethod(plain, "/kbench.v1.JobService/ListJobs");
  EXPECT_EQ(DetailsOf(refused).reason, "NO_CREDENTIALS");
  EXPECT_THAT(MessageOf(refused), HasSubstr(".id"));
}

TEST(Gate, APrivateSocketIsForItsOwnerWhateverTheUmask) {
  const mode_t before = umask(0);
  SecuredServer server;
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat(server.socket_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(std::filesystem::exists(server.socket_path() + kIdentitySuffix));
}

// The lines of the audit log about a method; waits until there are so many: a line is written after
// the answer.
std::vector<std::map<std::string, std::string>> AuditOf(const std::string& path,
                                                        const std::string& method,
                                                        std::size_t count) {
  std::vector<std::map<std::string, std::string>> lines;
  for (int i = 0; i < 2000 && lines.size() < count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i == 0 ? 0 : 5));
    lines.clear();
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      google::protobuf::Struct object;
      if (!google::protobuf::util::JsonStringToMessage(line, &object).ok()) continue;
      std::map<std::string, std::string> fields;
      for (const auto& [key, value] : object.fields()) fields[key] = value.string_value();
      if ("/" + fields["method"] == method) lines.push_back(fields);
    }
  }
  return lines;
}

TEST(Gate, TheAuditLogHoldsChangesAndRefusalsAndNoSecret) {
  SecuredServer server;
  const auto invited = server.Invite({.owner = "ana", .role = Role::kSubmitter});
  const std::string secret = server.CredentialsOf(invited).token;
  const auto channel = server.ChannelOf(invited);
  const auto jobs = kbench::v1::JobService::NewStub(channel);
  kbench::v1::Job job;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(jobs->SubmitJob(&context, MatmulJob(), &job).ok());
  }
  AuditOf(server.data_dir() + "/audit.log", "/kbench.v1.JobService/SubmitJob", 1);
  EXPECT_TRUE(CallMethod(channel, "/kbench.v1.JobService/ListJobs").ok());
  CallMethod(channel, "/kbench.v1.WorkerService/Connect").IgnoreError();
  Credentials wrong = server.CredentialsOf(invited);
  wrong.token = "kbt_" + std::string(43, 'x');
  CallMethod(MakeChannel(server.tls_address(), wrong), "/kbench.v1.JobService/ListJobs")
      .IgnoreError();
  const std::string log = ReadAll(server.data_dir() + "/audit.log");
  EXPECT_THAT(log, HasSubstr("\"method\":\"kbench.v1.JobService/SubmitJob\",\"owner\":\"ana\","
                             "\"role\":\"submitter\",\"credential\":\"token " +
                             invited.token.id + "\""));
  EXPECT_THAT(log, HasSubstr("\"code\":\"OK\",\"job\":\"" + job.name() + "\""));
  EXPECT_THAT(log, HasSubstr("\"code\":\"PERMISSION_DENIED\",\"reason\":\"ROLE_TOO_LOW\""));
  EXPECT_THAT(log, HasSubstr("\"code\":\"UNAUTHENTICATED\",\"reason\":\"UNKNOWN_CREDENTIALS\""));
  EXPECT_THAT(log, Not(HasSubstr("ListJobs\",\"owner\":\"ana\"")));
  EXPECT_THAT(log, Not(HasSubstr(secret)));
  EXPECT_THAT(log, Not(HasSubstr(wrong.token)));
}

TEST(Gate, AnAdminByTokenIsThatPersonWhateverTheirAccountIsCalled) {
  SecuredServer server;
  const auto boss = server.ChannelOf(server.Invite({.owner = "boss", .role = Role::kAdmin}));
  const auto admin = kbench::v1::AdminService::NewStub(boss);
  const auto workers = kbench::v1::WorkerService::NewStub(boss);
  grpc::ClientContext session;
  const auto stream = workers->Connect(&session);
  SayHello(*stream);
  kbench::v1::SubmitJobRequest request = MatmulJob();
  request.set_validate_only(true);
  request.set_owner("laptop-account");
  grpc::ClientContext submitting;
  kbench::v1::Job job;
  ASSERT_TRUE(kbench::v1::JobService::NewStub(boss)->SubmitJob(&submitting, request, &job).ok());
  EXPECT_EQ(job.owner(), "boss");
  kbench::v1::DrainDeviceRequest drain;
  drain.set_device("cpu0");
  drain.set_reason("new fans");
  drain.set_owner("laptop-account");
  grpc::ClientContext draining;
  kbench::v1::Device device;
  ASSERT_TRUE(admin->DrainDevice(&draining, drain, &device).ok());
  EXPECT_EQ(device.maintenance().by(), "boss");
  kbench::v1::SetDefaultDeviceRequest set;
  set.set_device("cpu0");
  set.set_owner("laptop-account");
  grpc::ClientContext setting;
  kbench::v1::SetDefaultDeviceResponse done;
  ASSERT_TRUE(admin->SetDefaultDevice(&setting, set, &done).ok());
  grpc::ClientContext listing;
  kbench::v1::ListDevicesRequest list;
  list.set_owner("laptop-account");
  kbench::v1::ListDevicesResponse devices;
  ASSERT_TRUE(kbench::v1::DeviceService::NewStub(boss)->ListDevices(&listing, list, &devices).ok());
  EXPECT_TRUE(devices.default_is_owners());
  // Who, and which device: also of one that there is not.
  drain.set_device("cpu9");
  grpc::ClientContext missing;
  EXPECT_FALSE(admin->DrainDevice(&missing, drain, &device).ok());
  const std::string log = server.data_dir() + "/audit.log";
  const auto drains = AuditOf(log, "/kbench.v1.AdminService/DrainDevice", 2);
  ASSERT_EQ(drains.size(), 2u);
  EXPECT_EQ(drains[0].at("owner"), "boss");
  EXPECT_EQ(drains[0].at("device"), "cpu0");
  EXPECT_EQ(drains[1].at("device"), "cpu9");
  const auto defaults = AuditOf(log, "/kbench.v1.AdminService/SetDefaultDevice", 1);
  ASSERT_EQ(defaults.size(), 1u);
  EXPECT_EQ(defaults[0].at("device"), "cpu0");
  session.TryCancel();
  EXPECT_FALSE(stream->Finish().ok());
}

TEST(Gate, TheAuditLogSaysHowEveryChangingCallEnded) {
  SecuredServer server;
  const auto admin = server.ChannelOf(server.Invite({.owner = "root", .role = Role::kAdmin}));
  int methods = 0;
  for (const auth::Method& method : auth::Methods()) {
    const bool session = std::string(method.path) == "/kbench.v1.WorkerService/Connect";
    if (!method.changes || session) continue;
    ++methods;
    // Nothing at all, what is no message, and more than may be.
    std::vector<absl::Status> answers;
    for (const std::string& request :
         {std::string(), std::string("\xff\xff\xff"), std::string(5u << 20, 'x')}) {
      answers.push_back(CallMethod(admin, method.path, request));
      // A line is written after the answer is sent: the next call's must not overtake it.
      AuditOf(server.data_dir() + "/audit.log", method.path, answers.size());
    }
    const auto lines = AuditOf(server.data_dir() + "/audit.log", method.path, answers.size());
    ASSERT_EQ(lines.size(), answers.size()) << method.path;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(lines[i].at("code"), absl::StatusCodeToString(answers[i].code())) << method.path;
      const auto reason = lines[i].find("reason");
      if (answers[i].ok()) {
        EXPECT_EQ(reason, lines[i].end()) << method.path;
      } else if (const std::string told = DetailsOf(answers[i]).reason; !told.empty()) {
        ASSERT_NE(reason, lines[i].end()) << method.path;
        EXPECT_EQ(reason->second, told) << method.path;
      }
    }
    EXPECT_EQ(lines[1].at("code"), "INTERNAL") << method.path;
    EXPECT_EQ(lines[2].at("reason"), "REQUEST_TOO_LARGE") << method.path;
  }
  EXPECT_GE(methods, 8);
}

TEST(Gate, PlainLoopbackIsForSubmittersWhomNobodyKnows) {
  TempDir dir;
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.metrics_listen = "";
  options.data_dir = dir / "data";
  const auto server = Server::Start(options, SystemClock());
  ASSERT_TRUE(server.ok()) << server.status();
  const auto channel = MakeChannel((*server)->listen().front());
  EXPECT_EQ(WhoAmI(channel).role(), "submitter");
  EXPECT_EQ(WhoAmI(channel).owner(), "");
  EXPECT_TRUE(CallMethod(channel, "/kbench.v1.JobService/ListJobs").ok());
  EXPECT_EQ(DetailsOf(CallMethod(channel, "/kbench.v1.WorkerService/Connect")).reason,
            "ROLE_TOO_LOW");
}

}  // namespace
}  // namespace kbench::server
