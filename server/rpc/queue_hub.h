// Who watches the queue. Watchers that asked for the same share one snapshot, and hear of it when
// it has changed. Thread-safe; calls the watchers outside its lock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kbench/v1/job_service.pb.h"
#include "kbench/v1/queue.pb.h"
#include "proto/support/mutex.h"

namespace kbench::server {

// The far end of WatchQueue. Thread-safe; every method returns at once and may be called after the
// stream has ended.
class QueueWatcher {
 public:
  using Snapshot = std::shared_ptr<const kbench::v1::QueueSnapshot>;

  virtual ~QueueWatcher() = default;
  // Only the newest is kept while the far end is slow.
  virtual void Deliver(Snapshot snapshot) = 0;
  virtual void Close(const absl::Status& status) = 0;
  // `now` in seconds on a steady clock.
  virtual void Tick(double now) = 0;
};

class QueueHub {
 public:
  using Request = kbench::v1::GetQueueRequest;
  using Snapshot = QueueWatcher::Snapshot;
  // All requests in one go: each snapshot at the request's place.
  using Look = std::function<std::vector<kbench::v1::QueueSnapshot>(const std::vector<Request>&)>;

  // At most one look every `least_seconds`; a snapshot that has not changed is told again after
  // `ping_seconds`, so that both ends notice a link that is dead.
  QueueHub(double least_seconds, double ping_seconds)
      : least_seconds_(least_seconds), ping_seconds_(ping_seconds) {}

  // False after CloseAll, and where too many different requests are watched: then the watcher has
  // been closed.
  bool Add(const Request& request, std::shared_ptr<QueueWatcher> watcher);
  void Remove(const QueueWatcher* watcher);
  // Looks where somebody watches and it is time, and tells what has changed. At once for who asks
  // for what nobody has asked for before.
  void Tick(double now, const Look& look);
  void CloseAll(const absl::Status& status);
  int size() const;

 private:
  struct Group {
    Request request;
    std::vector<std::shared_ptr<QueueWatcher>> watchers;
    std::vector<std::shared_ptr<QueueWatcher>> fresh;  // those that have not heard anything yet
    std::size_t content = 0;                           // hash of the newest, without its time
    Snapshot newest;
    double told_at = 0;
  };

  using Tell = std::vector<std::pair<std::shared_ptr<QueueWatcher>, Snapshot>>;

  static void Take(kbench::v1::QueueSnapshot snapshot, double now, double ping_seconds,
                   Group& group, Tell& tell);

  const double least_seconds_;
  const double ping_seconds_;
  mutable Mutex mutex_;
  std::map<std::string, Group> groups_ ABSL_GUARDED_BY(mutex_);  // by what was asked for
  double looked_at_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status closed_with_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench::server
