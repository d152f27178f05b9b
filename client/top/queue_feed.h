// WatchQueue on a thread of its own, across restarts of the coordinator: holds the newest snapshot.
// Owned by the verb that shows it; thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "client/backend.h"
#include "grpcpp/client_context.h"
#include "kbench/v1/queue.pb.h"
#include "proto/support/mutex.h"

namespace kbench::client {

class QueueFeed {
 public:
  struct State {
    std::optional<kbench::v1::QueueSnapshot> queue;  // nothing has come yet
    double received_at = 0;                          // steady seconds
    double away_since = 0;                           // 0: connected
    absl::Status error;  // not OK: it will not get better, or nothing answered the first time
  };
  struct Pauses {
    double first_seconds = 0.1;
    double longest_seconds = 2;
  };

  // Begins at once. `changed` is called from its thread when the state has changed.
  QueueFeed(const Backend& backend, kbench::v1::GetQueueRequest request,
            std::function<void()> changed, const Pauses& pauses);
  ~QueueFeed();

  State Get() const;

 private:
  void Loop();
  grpc::Status WatchOnce();
  // False when it has been stopped.
  bool Pause(double seconds);

  const Backend& backend_;
  const kbench::v1::GetQueueRequest request_;
  const std::function<void()> changed_;
  const Pauses pauses_;
  mutable Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // under way
  double pause_seconds_;                                         // of the thread alone
  std::thread thread_;
};

}  // namespace kbench::client
