// The far ends the coordinator talks to: a worker's stream and a watcher's. Implemented over gRPC's
// callback API (worker_stream.h, watch_stream.h); every method is thread-safe, returns at once and
// may be called after the stream has ended.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "kbench/v1/job.pb.h"
#include "kbench/v1/worker_service.pb.h"

namespace kbench::server {

class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  // In order; what is sent before the welcome waits for it.
  virtual void Send(kbench::v1::CoordinatorMessage message) = 0;
  // After what was sent.
  virtual void Close(const absl::Status& status) = 0;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  // Numbered events, the snapshot and `final`: kept in order, never dropped one by one.
  virtual void Deliver(std::shared_ptr<const kbench::v1::JobEvent> event) = 0;
  // Sequence 0: only the newest of a kind is kept while the far end is slow.
  virtual void Ephemeral(const kbench::v1::JobEvent& event) = 0;
  virtual void Close(const absl::Status& status) = 0;
  // Twice a second or so; `now` in seconds on a steady clock.
  virtual void Tick(double now) = 0;
};

}  // namespace kbench::server
