#include "server/rpc/queue_stream.h"

#include <utility>

#include "proto/support/rpc_status.h"

namespace kbench::server {

std::shared_ptr<QueueStream> QueueStream::Make(double least_seconds,
                                               std::function<void(const QueueWatcher*)> on_done) {
  std::shared_ptr<QueueStream> stream(new QueueStream(least_seconds, std::move(on_done)));
  stream->self_ = stream;
  return stream;
}

void QueueStream::Deliver(Snapshot snapshot) {
  {
    MutexLock lock(mutex_);
    if (closing_ || finished_) return;
    newest_ = std::move(snapshot);
  }
  Pump();
}

void QueueStream::Close(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    if (closing_ || finished_) return;
    closing_ = status;
    newest_ = nullptr;
  }
  Pump();
}

void QueueStream::Tick(double now) {
  {
    MutexLock lock(mutex_);
    now_ = now;
  }
  Pump();
}

void QueueStream::Pump() {
  Snapshot next;
  std::optional<absl::Status> end;
  {
    MutexLock lock(mutex_);
    if (writing_ != nullptr || finished_) return;
    if (closing_) {
      end = closing_;
      finished_ = true;
    } else if (newest_ != nullptr && (!wrote_ || now_ - last_write_ >= least_seconds_)) {
      next = std::move(newest_);
      newest_ = nullptr;
      writing_ = next;
      wrote_ = true;
      last_write_ = now_;
    }
  }
  if (next != nullptr) StartWrite(next.get());
  if (end) Finish(ToGrpc(*end));
}

void QueueStream::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = nullptr;
    if (!ok && !closing_) closing_ = absl::CancelledError("the watcher has gone");
  }
  Pump();
}

void QueueStream::OnCancel() { Close(absl::CancelledError("the watcher has gone")); }

void QueueStream::OnDone() {
  const std::shared_ptr<QueueStream> self = std::move(self_);
  on_done_(this);
}

}  // namespace kbench::server
