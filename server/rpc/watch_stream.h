// The stream of WatchJob: a callback reactor that never blocks. It holds at most a bounded number
// of events; a far end that reads too slowly is dropped with ABORTED and resumes. Owned by itself
// (and the hub) until gRPC says it is done. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "grpcpp/support/server_callback.h"
#include "kbench/v1/job.pb.h"
#include "proto/support/mutex.h"
#include "server/rpc/links.h"

namespace kbench::server {

class WatchStream final : public grpc::ServerWriteReactor<kbench::v1::JobEvent>, public Watcher {
 public:
  // `on_done` is called once, when the stream has ended, with this.
  static std::shared_ptr<WatchStream> Make(std::function<void(const Watcher*)> on_done);

  void Deliver(std::shared_ptr<const kbench::v1::JobEvent> event) override;
  void Ephemeral(const kbench::v1::JobEvent& event) override;
  void Close(const absl::Status& status) override;
  void Tick(double now) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  using Event = std::shared_ptr<const kbench::v1::JobEvent>;

  explicit WatchStream(std::function<void(const Watcher*)> on_done)
      : on_done_(std::move(on_done)) {}

  void Pump();  // writes the next event, or finishes, outside the lock

  std::function<void(const Watcher*)> on_done_;
  std::shared_ptr<WatchStream> self_;  // until OnDone

  Mutex mutex_;
  std::deque<Event> queue_ ABSL_GUARDED_BY(mutex_);
  std::size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The newest progress, position and ping that wait, by kind.
  std::map<int, Event> ephemeral_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mutex_);
  Event writing_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t last_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  double now_ ABSL_GUARDED_BY(mutex_) = 0;
  double last_write_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kbench::server
