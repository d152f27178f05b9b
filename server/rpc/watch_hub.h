// Who watches which job. Thread-safe; calls the watchers outside its lock.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/support/mutex.h"
#include "server/rpc/links.h"

namespace kbench::server {

class WatchHub {
 public:
  // False after CloseAll: then the watcher has been closed.
  bool Add(const std::string& job, std::shared_ptr<Watcher> watcher);
  void Remove(const std::string& job, const Watcher* watcher);
  void Publish(const std::string& job, std::shared_ptr<const kbench::v1::JobEvent> event);
  void PublishEphemeral(const std::string& job, const kbench::v1::JobEvent& event);
  // Ends the watchers of one job.
  void Finish(const std::string& job, const absl::Status& status);
  void CloseAll(const absl::Status& status);
  void Tick(double now);

  bool IsWatched(const std::string& job) const;
  std::vector<std::string> WatchedJobs() const;
  int size() const;

 private:
  std::vector<std::shared_ptr<Watcher>> Of(const std::string& job) const;

  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status closed_with_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<std::shared_ptr<Watcher>>> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench::server
