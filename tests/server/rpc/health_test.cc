// grpc.health.v1 and reflection, spoken as bytes: their messages are not among the installed
// headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

struct Answer {
  grpc::Status status;
  std::string bytes;  // of the first message
};

// One request, the first answer.
Answer Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
            const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto next = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  next();
  const grpc::Slice slice(request);
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  next();
  call->WritesDone(nullptr);
  next();
  grpc::ByteBuffer reply;
  call->Read(&reply, nullptr);
  Answer answer;
  if (next()) {
    grpc::Slice bytes;
    reply.DumpToSingleSlice(&bytes).ok();
    answer.bytes.assign(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  }
  call->Finish(&answer.status, nullptr);
  next();
  queue.Shutdown();
  return answer;
}

Answer Check(TestServer& server, const std::string& service) {
  const std::string request =
      std::string("\x0a") + static_cast<char>(service.size()) + service;  // field 1, text
  return Call(server.channel(), "/grpc.health.v1.Health/Check", request);
}

TEST(Health, EveryServiceServes) {
  TestServer server;
  for (const char* service : {"", "kbench.v1.JobService", "kbench.v1.ResultService",
                              "kbench.v1.DeviceService", "kbench.v1.WorkerService"}) {
    EXPECT_EQ(Check(server, service).bytes, "\x08\x01") << service << ": field 1 is SERVING";
  }
  EXPECT_EQ(Check(server, "kbench.v1.Nothing").status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(Health, ReflectionListsTheServices) {
  TestServer server;
  const Answer answer =
      Call(server.channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
           std::string("\x3a\x01*"));  // field 7, list_services
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  for (const char* service :
       {"kbench.v1.JobService", "kbench.v1.ResultService", "kbench.v1.DeviceService",
        "kbench.v1.WorkerService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(answer.bytes, ::testing::HasSubstr(service));
  }
}

}  // namespace
}  // namespace kbench::server
