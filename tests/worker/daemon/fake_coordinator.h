// A coordinator in the test's process: serves WorkerService on a Unix socket, writes down what the
// worker says, and says what the test wants. Thread-safe.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "kbench/v1/worker_service.grpc.pb.h"
#include "proto/support/clock.h"
#include "proto/support/mutex.h"

namespace kbench {

class FakeCoordinator final : public v1::WorkerService::Service {
 public:
  explicit FakeCoordinator(std::string path) : path_(std::move(path)) { Start(); }
  ~FakeCoordinator() override { Stop(); }

  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path_, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(64 << 20);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  // Breaks every stream.
  void Stop() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_.reset();
  }

  // The verdict on each attempt held at the next hello.
  void OnHello(std::function<v1::Welcome(const v1::WorkerHello&)> answer) {
    MutexLock lock(mutex_);
    on_hello_ = std::move(answer);
  }
  void RefuseWith(const grpc::Status& status) {
    MutexLock lock(mutex_);
    refusal_ = status;
  }
  void AcknowledgeResults(bool yes) {
    MutexLock lock(mutex_);
    acknowledge_ = yes;
  }
  // To the worker that is connected. False when none is.
  bool Send(const v1::CoordinatorMessage& message) {
    MutexLock lock(mutex_);
    return stream_ != nullptr && stream_->Write(message);
  }

  // Waits for the condition on what was received so far.
  bool WaitFor(const std::function<bool(const std::vector<v1::WorkerMessage>&)>& condition,
               double seconds = 20) {
    const double end = SystemClock().SteadySeconds() + seconds;
    MutexLock lock(mutex_);
    while (!condition(received_)) {
      const double left = end - SystemClock().SteadySeconds();
      if (left <= 0) return false;
      changed_.WaitFor(mutex_, left);
    }
    return true;
  }
  std::vector<v1::WorkerMessage> received() {
    MutexLock lock(mutex_);
    return received_;
  }
  void Forget() {
    MutexLock lock(mutex_);
    received_.clear();
  }

 private:
  using Stream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;

  grpc::Status Connect(grpc::ServerContext*, Stream* stream) override {
    v1::WorkerMessage message;
    while (stream->Read(&message)) {
      MutexLock lock(mutex_);
      received_.push_back(message);
      changed_.NotifyAll();
      if (message.has_hello()) {
        if (!refusal_.ok()) return refusal_;
        stream_ = stream;
        v1::CoordinatorMessage answer;
        *answer.mutable_welcome() = on_hello_(message.hello());
        stream->Write(answer);
      } else if (message.has_result() && acknowledge_) {
        v1::CoordinatorMessage answer;
        *answer.mutable_ack()->mutable_id() = message.result().id();
        stream->Write(answer);
      }
    }
    MutexLock lock(mutex_);
    if (stream_ == stream) stream_ = nullptr;
    return grpc::Status::OK;
  }

  const std::string path_;
  std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<v1::WorkerMessage> received_;
  std::function<v1::Welcome(const v1::WorkerHello&)> on_hello_ = [](const v1::WorkerHello&) {
    v1::Welcome welcome;
    *welcome.mutable_heartbeat_interval() = ToDuration(0.1);
    return welcome;
  };
  grpc::Status refusal_ = grpc::Status::OK;
  bool acknowledge_ = true;
  Stream* stream_ = nullptr;
};

}  // namespace kbench
