#include "server/rpc/worker_stream.h"

#include <algorithm>
#include <utility>

#include "proto/support/error.h"
#include "proto/support/rpc_status.h"

namespace kbench::server {

using kbench::v1::CoordinatorMessage;
using kbench::v1::WorkerMessage;

namespace {

// A worker that does not read: its assignments and acknowledgements are few.
constexpr std::size_t kMostMessages = 1000;

}  // namespace

WorkerStream* WorkerStream::Make(Coordinator& coordinator) {
  std::shared_ptr<WorkerStream> stream(new WorkerStream(coordinator));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void WorkerStream::Send(CoordinatorMessage message) {
  {
    MutexLock lock(mutex_);
    if (closing_ || finished_) return;
    if (message.has_welcome()) {
      welcomed_ = true;
      queue_.push_front(std::move(message));
    } else {
      queue_.push_back(std::move(message));
    }
    if (queue_.size() > kMostMessages) {
      queue_.clear();
      closing_ = MakeError(absl::StatusCode::kUnavailable, "the worker does not read its messages",
                           {.reason = "SLOW_WORKER"});
    }
  }
  Pump();
}

void WorkerStream::Close(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    if (closing_ || finished_) return;
    closing_ = status;
  }
  Pump();
}

void WorkerStream::Pump() {
  bool write = false;
  std::optional<absl::Status> end;
  {
    MutexLock lock(mutex_);
    if (writing_ || finished_) return;
    if (welcomed_ && !queue_.empty()) {
      outgoing_ = std::move(queue_.front());
      queue_.pop_front();
      writing_ = write = true;
    } else if (closing_) {
      end = closing_;
      finished_ = true;
    }
  }
  if (write) StartWrite(&outgoing_);
  if (end) Finish(ToGrpc(*end));
}

void WorkerStream::OnReadDone(bool ok) {
  if (!ok) {
    // The far end closed its side, is gone, or sent what cannot be read; gRPC does not say which.
    // Either way the session is over, and whoever still listens hears of the last.
    coordinator_.OnWorkerGone(self_);
    Close(MakeError(absl::StatusCode::kInvalidArgument,
                    "the stream has ended: it was closed, or a message on it cannot be read (no "
                    "WorkerMessage, or a text that is not UTF-8)",
                    {.reason = "BAD_MESSAGE"}));
    return;
  }
  coordinator_.OnWorkerMessage(self_, std::exchange(incoming_, WorkerMessage()));
  StartRead(&incoming_);
}

void WorkerStream::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) {
      queue_.clear();
      if (!closing_) closing_ = absl::CancelledError("the worker has gone");
    }
  }
  Pump();
}

void WorkerStream::OnCancel() { Close(absl::CancelledError("the worker has gone")); }

void WorkerStream::OnDone() {
  const std::shared_ptr<WorkerStream> self = std::move(self_);
  coordinator_.OnWorkerGone(self);
}

grpc::ServerBidiReactor<WorkerMessage, CoordinatorMessage>* WorkerService::Connect(
    grpc::CallbackServerContext*) {
  return WorkerStream::Make(coordinator_);
}

}  // namespace kbench::server
