// The stream of WorkerService.Connect: a callback reactor that never blocks, and the service that
// makes it. Owned by itself (and the coordinator's session) until gRPC says it is done.
// Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "grpcpp/support/server_callback.h"
#include "kbench/v1/worker_service.grpc.pb.h"
#include "proto/support/mutex.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/links.h"

namespace kbench::server {

class WorkerStream final
    : public grpc::ServerBidiReactor<kbench::v1::WorkerMessage, kbench::v1::CoordinatorMessage>,
      public WorkerLink {
 public:
  static WorkerStream* Make(Coordinator& coordinator);

  void Send(kbench::v1::CoordinatorMessage message) override;
  void Close(const absl::Status& status) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit WorkerStream(Coordinator& coordinator) : coordinator_(coordinator) {}
  void Pump();  // writes the next message, or finishes, outside the lock

  Coordinator& coordinator_;
  std::shared_ptr<WorkerStream> self_;  // until OnDone
  kbench::v1::WorkerMessage incoming_;  // the read under way fills it

  Mutex mutex_;
  std::deque<kbench::v1::CoordinatorMessage> queue_ ABSL_GUARDED_BY(mutex_);
  bool welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  kbench::v1::CoordinatorMessage outgoing_;  // the write under way reads it
};

class WorkerService final : public kbench::v1::WorkerService::CallbackService {
 public:
  explicit WorkerService(Coordinator& coordinator) : coordinator_(coordinator) {}
  grpc::ServerBidiReactor<kbench::v1::WorkerMessage, kbench::v1::CoordinatorMessage>* Connect(
      grpc::CallbackServerContext* context) override;

 private:
  Coordinator& coordinator_;
};

}  // namespace kbench::server
