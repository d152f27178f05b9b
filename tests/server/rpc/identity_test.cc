// Who a worker says it is: two of one name, and versions that are not the coordinator's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpcpp/channel.h"
#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states

TEST(Identity, TwoThatTakeTheNameFromEachOtherAreBothRefused) {
  TestServer server;
  auto first = std::make_unique<FakeWorker>(server, "w1", FakeDevice("cpu", "cpu"), "boot0");
  ASSERT_TRUE(first->Welcome().has_value());
  for (const char* boot : {"boot1", "boot2"}) {
    auto next = std::make_unique<FakeWorker>(server, "w1", FakeDevice("cpu", "cpu"), boot);
    ASSERT_TRUE(next->Welcome().has_value()) << boot;
    EXPECT_EQ(first->End().code(), absl::StatusCode::kAborted);
    first = std::move(next);
  }
  FakeWorker third(server, "w1", FakeDevice("cpu", "cpu"), "boot3");
  EXPECT_FALSE(third.Welcome().has_value());
  for (FakeWorker* refused : {&third, first.get()}) {
    const absl::Status end = refused->End();
    EXPECT_EQ(end.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(DetailsOf(end).reason, "IDENTITY_CONTESTED");
    EXPECT_THAT(MessageOf(end), ::testing::AllOf(::testing::HasSubstr("w1"),
                                                 ::testing::HasSubstr("stop one of them")));
  }
  FakeWorker fourth(server, "w1", FakeDevice("cpu", "cpu"), "boot4");
  EXPECT_EQ(DetailsOf(fourth.End()).reason, "IDENTITY_CONTESTED") << "for a minute";
  FakeWorker other(server, "w2", FakeDevice("cpu2", "cpu"));
  EXPECT_TRUE(other.Welcome().has_value());
}

TEST(Identity, OneProcessThatReconnectsContestsNothing) {
  TestServer server;
  std::vector<std::unique_ptr<FakeWorker>> sessions;
  for (int i = 0; i < 6; ++i) {
    sessions.push_back(std::make_unique<FakeWorker>(server, "w1", FakeDevice("cpu", "cpu")));
    ASSERT_TRUE(sessions.back()->Welcome().has_value()) << i;
  }
}

// A worker of the minor version before: it says less, and an even newer one says more.
TEST(Versions, AWorkerOneMinorVersionBehindWorks) {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.version = "1.4.0";
  TestServer server(options);
  const auto stub = WorkerService::NewStub(server.channel());
  const auto hello = [](const std::string& version) {
    WorkerMessage message;
    message.mutable_hello()->set_worker_id("w1");
    message.mutable_hello()->set_boot_id("boot1");
    message.mutable_hello()->set_version(version);
    Device& device = *message.mutable_hello()->mutable_device();
    device.set_name("cpu");
    device.set_kind("cpu");
    *device.mutable_implementations() = FakeDevice("cpu", "cpu").implementations();
    return message;
  };
  const auto add_unknown = [](google::protobuf::Message* message) {
    auto* fields = message->GetReflection()->MutableUnknownFields(message);
    fields->AddLengthDelimited(15000, "from another version");
    fields->AddVarint(15001, 7);
  };
  for (const char* version : {"1.3.7", "1.4.0", "1.5.0"}) {
    SCOPED_TRACE(version);
    const Job job = server.MustSubmit(MatmulJob());
    grpc::ClientContext context;
    const auto stream = stub->Connect(&context);
    WorkerMessage message = hello(version);
    add_unknown(&message);
    add_unknown(message.mutable_hello());
    add_unknown(message.mutable_hello()->mutable_device());
    stream->Write(message);
    CoordinatorMessage answer;
    ASSERT_TRUE(stream->Read(&answer));
    ASSERT_TRUE(answer.has_welcome());
    message.Clear();
    message.mutable_heartbeat();  // nothing but that it lives
    add_unknown(message.mutable_heartbeat());
    stream->Write(message);
    message.Clear();
    add_unknown(&message);  // a kind of message that this coordinator does not know
    stream->Write(message);
    ASSERT_TRUE(stream->Read(&answer));
    ASSERT_TRUE(answer.has_assign());
    message.Clear();
    *message.mutable_result()->mutable_id() = answer.assign().id();
    message.mutable_result()->add_results()->set_outcome(OUTCOME_OK);
    add_unknown(message.mutable_result()->mutable_results(0));
    stream->Write(message);
    ASSERT_TRUE(stream->Read(&answer));
    EXPECT_FALSE(answer.ack().stale());
    server.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
    context.TryCancel();
    stream->Finish();
  }
  for (const char* version : {"1.2.0", "2.0.0"}) {
    grpc::ClientContext context;
    const auto stream = stub->Connect(&context);
    stream->Write(hello(version));
    CoordinatorMessage answer;
    EXPECT_FALSE(stream->Read(&answer));
    const absl::Status end = FromGrpc(stream->Finish());
    EXPECT_EQ(end.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(MessageOf(end), ::testing::HasSubstr("coordinator's 1.4.0"));
  }
}

}  // namespace
}  // namespace kbench::server
