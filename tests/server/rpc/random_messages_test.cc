// Every method of every service, with random messages: made field by field from their descriptors
// (some of it what real ones hold), and as bytes that are no message. Each answers with a code that
// service.md's table knows, with our details, and the server lives on.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "kbench/v1/admin_service.pb.h"
#include "kbench/v1/device_service.pb.h"
#include "kbench/v1/job_service.pb.h"
#include "kbench/v1/result_service.pb.h"
#include "kbench/v1/worker_service.pb.h"
#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::Reflection;
using grpc::StatusCode;

constexpr int kRounds = 40;
constexpr int kDeepest = 4;

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}
  void Know(const std::string& word) { words_.push_back(word); }
  std::size_t Below(std::size_t bound) { return random_() % bound; }

  void Fill(Message& message, int depth = 0) {
    const auto* descriptor = message.GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      if (Below(3) == 0) continue;
      const FieldDescriptor* field = descriptor->field(i);
      const std::size_t count = field->is_repeated() ? Below(3) : 1;
      for (std::size_t n = 0; n < count; ++n) FillField(message, field, depth);
    }
  }
  std::string Bytes() {
    std::string bytes(Below(64), '\0');
    for (char& c : bytes) c = static_cast<char>(random_());
    return bytes;
  }

 private:
  std::string Word() {
    if (Below(8) == 0) return std::string(Below(3000), 'x');
    return words_[Below(words_.size())];
  }
  std::int64_t Number() {
    static constexpr std::int64_t kNumbers[] = {0,    1,       -1,        2,         50, 1000,
                                                1001, 1 << 20, INT32_MAX, INT32_MIN, 7,  100000};
    return Below(5) == 0 ? static_cast<std::int64_t>(random_())
                         : kNumbers[Below(std::size(kNumbers))];
  }
  double Real() {
    static constexpr double kReals[] = {0, 1, -1, 0.01, 1e308, 1e-300, 60};
    return Below(9) == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : kReals[Below(std::size(kReals))];
  }

  void FillField(Message& message, const FieldDescriptor* field, int depth) {
    const Reflection& reflection = *message.GetReflection();
    const bool many = field->is_repeated();
#define KB_PUT(Type, value)                            \
  (many ? reflection.Add##Type(&message, field, value) \
        : reflection.Set##Type(&message, field, value))
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return KB_PUT(String, Word());
      case FieldDescriptor::CPPTYPE_INT32:
        return KB_PUT(Int32, static_cast<std::int32_t>(Number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return KB_PUT(Int64, Number());
      case FieldDescriptor::CPPTYPE_UINT32:
        return KB_PUT(UInt32, static_cast<std::uint32_t>(Number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return KB_PUT(UInt64, static_cast<std::uint64_t>(Number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return KB_PUT(Double, Real());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return KB_PUT(Float, static_cast<float>(Real()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return KB_PUT(Bool, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return KB_PUT(EnumValue, static_cast<int>(Below(9)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth < kDeepest) {
          Fill(many ? *reflection.AddMessage(&message, field)
                    : *reflection.MutableMessage(&message, field),
               depth + 1);
        }
        return;
    }
#undef KB_PUT
  }

  std::mt19937_64 random_;
  std::vector<std::string> words_ = {"",
                                     "jobs/none",
                                     "jobs/",
                                     "results/x-0-0",
                                     "matmul",
                                     "sum",
                                     "fp32",
                                     "fp17",
                                     "64",
                                     "2^65",
                                     "m=4,n=4,k=4",
                                     "cold",
                                     "cpu",
                                     "gpu",
                                     "model=X,cc=9",
                                     "label:a=b",
                                     "all",
                                     "cublas",
                                     "interactive",
                                     "ada",
                                     "../../etc/passwd",
                                     "artifacts/x-0-y",
                                     "\xc3\xa9\xe2\x82\xac",
                                     "%s%n",
                                     "1.2",
                                     "00000000-0000-0000-0000-000000000000"};
};

std::string MethodPath(const MethodDescriptor& method) {
  return "/" + std::string(method.service()->full_name()) + "/" + std::string(method.name());
}

// One call with these bytes; a stream is read for a moment and cancelled.
grpc::Status Call(grpc::GenericStub& stub, const MethodDescriptor& method,
                  const std::string& bytes) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  const auto stream = stub.PrepareCall(&context, MethodPath(method), &queue);
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const grpc::Slice slice(bytes);
  stream->StartCall(nullptr);
  bool good = wait();
  if (good) {
    stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    good = wait();
  }
  if (good) {
    stream->WritesDone(nullptr);
    good = wait();
  }
  if (good) {
    grpc::ByteBuffer reply;
    stream->Read(&reply, nullptr);
    good = wait();
  }
  // Of a stream that goes on one message is enough.
  if (good && method.server_streaming()) context.TryCancel();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  wait();
  queue.Shutdown();
  while (wait()) {
  }
  return status;
}

const std::set<StatusCode>& Documented() {
  static const std::set<StatusCode> codes = {
      StatusCode::OK,           StatusCode::INVALID_ARGUMENT,    StatusCode::NOT_FOUND,
      StatusCode::CANCELLED,    StatusCode::FAILED_PRECONDITION, StatusCode::ALREADY_EXISTS,
      StatusCode::UNAVAILABLE,  StatusCode::RESOURCE_EXHAUSTED,  StatusCode::ABORTED,
      StatusCode::OUT_OF_RANGE, StatusCode::UNAUTHENTICATED,     StatusCode::PERMISSION_DENIED};
  return codes;
}

std::vector<const MethodDescriptor*> Methods() {
  std::vector<const MethodDescriptor*> methods;
  for (const auto* file :
       {v1::GetJobRequest::descriptor()->file(), v1::GetResultRequest::descriptor()->file(),
        v1::ListDevicesRequest::descriptor()->file(), v1::WorkerHello::descriptor()->file(),
        v1::BackupRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(file->service(s)->method(m));
      }
    }
  }
  return methods;
}

bool HasOurDetails(const grpc::Status& status) {
  return !DetailsOf(FromGrpc(status)).reason.empty();
}

TEST(RandomMessages, EveryMethodAnswersWithADocumentedCode) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  grpc::GenericStub stub(server.channel());
  google::protobuf::DynamicMessageFactory factory;
  Maker maker(20);
  maker.Know(server.MustSubmit(MatmulJob(2)).name());
  const auto methods = Methods();
  ASSERT_GT(methods.size(), 20u);
  for (int round = 0; round < kRounds; ++round) {
    for (const MethodDescriptor* method : methods) {
      const std::unique_ptr<Message> message(factory.GetPrototype(method->input_type())->New());
      maker.Fill(*message);
      const grpc::Status status = Call(stub, *method, message->SerializeAsString());
      // A method of the contract that this server does not have (yet).
      if (status.error_code() == StatusCode::UNIMPLEMENTED) continue;
      EXPECT_EQ(Documented().count(status.error_code()), 1u)
          << MethodPath(*method) << " " << status.error_code() << " " << status.error_message()
          << "\n"
          << message->ShortDebugString();
      if (status.ok() || status.error_code() == StatusCode::CANCELLED) continue;
      EXPECT_TRUE(HasOurDetails(status)) << MethodPath(*method) << " " << status.error_message();
    }
  }
  EXPECT_TRUE(server.Submit(MatmulJob()).ok()) << "it lives on";
}

// gRPC itself says INTERNAL of bytes that are no message, before any of our code runs.
TEST(RandomMessages, BytesThatAreNoMessageHarmNothing) {
  TestServer server;
  grpc::GenericStub stub(server.channel());
  Maker maker(21);
  const std::string name = server.MustSubmit(MatmulJob()).name();
  for (int round = 0; round < kRounds; ++round) {
    for (const MethodDescriptor* method : Methods()) {
      const grpc::Status status = Call(stub, *method, maker.Bytes());
      if (status.error_code() == StatusCode::UNIMPLEMENTED) continue;
      EXPECT_TRUE(Documented().count(status.error_code()) == 1 ||
                  status.error_code() == StatusCode::INTERNAL)
          << MethodPath(*method) << " " << status.error_code() << " " << status.error_message();
    }
  }
  EXPECT_EQ(server.Get(name)->state(), v1::JOB_STATE_QUEUED);
}

}  // namespace
}  // namespace kbench::server
