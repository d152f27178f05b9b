#include "client/stack/health.h"

#include <chrono>
#include <string>
#include <vector>

#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"

namespace kbench::client {
namespace {

// HealthCheckResponse{status = SERVING} on the wire: field 1, varint, 1. Distributions do not
// package health.proto, and two bytes do not justify a copy of it.
constexpr char kServing[] = {0x08, 0x01};

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

bool IsServing(const std::shared_ptr<grpc::ChannelInterface>& channel, double seconds) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<int>(seconds * 1000)));
  const grpc::Slice nothing("", 0);  // HealthCheckRequest{}: the server as a whole
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->StartCall();
  call->Finish(&reply, &status, &queue);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  return ok && status.ok() && Flatten(reply) == std::string(kServing, sizeof(kServing));
}

}  // namespace kbench::client
