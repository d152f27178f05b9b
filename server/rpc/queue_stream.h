// The stream of WatchQueue: a callback reactor that never blocks. It holds the newest snapshot and
// the one that is being written, however slowly the far end reads; both are shared with the others
// who asked for the same. Owned by itself (and the hub) until gRPC says it is done. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "grpcpp/support/server_callback.h"
#include "kbench/v1/queue.pb.h"
#include "proto/support/mutex.h"
#include "server/rpc/queue_hub.h"

namespace kbench::server {

class QueueStream final : public grpc::ServerWriteReactor<kbench::v1::QueueSnapshot>,
                          public QueueWatcher {
 public:
  // `on_done` is called once, when the stream has ended, with this. At most one message every
  // `least_seconds`.
  static std::shared_ptr<QueueStream> Make(double least_seconds,
                                           std::function<void(const QueueWatcher*)> on_done);

  void Deliver(Snapshot snapshot) override;
  void Close(const absl::Status& status) override;
  void Tick(double now) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  QueueStream(double least_seconds, std::function<void(const QueueWatcher*)> on_done)
      : least_seconds_(least_seconds), on_done_(std::move(on_done)) {}

  void Pump();  // writes the newest, or finishes, outside the lock

  const double least_seconds_;
  std::function<void(const QueueWatcher*)> on_done_;
  std::shared_ptr<QueueStream> self_;  // until OnDone

  Mutex mutex_;
  Snapshot newest_ ABSL_GUARDED_BY(mutex_);   // waits to be written
  Snapshot writing_ ABSL_GUARDED_BY(mutex_);  // is being written
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool wrote_ ABSL_GUARDED_BY(mutex_) = false;  // anything yet
  double now_ ABSL_GUARDED_BY(mutex_) = 0;
  double last_write_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kbench::server
