#include "server/rpc/watch_hub.h"

#include <utility>

namespace kbench::server {

using kbench::v1::JobEvent;

bool WatchHub::Add(const std::string& job, std::shared_ptr<Watcher> watcher) {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (!closed_) {
      watchers_[job].push_back(std::move(watcher));
      return true;
    }
    status = closed_with_;
  }
  watcher->Close(status);
  return false;
}

void WatchHub::Remove(const std::string& job, const Watcher* watcher) {
  std::vector<std::shared_ptr<Watcher>> removed;  // destroyed outside the lock
  MutexLock lock(mutex_);
  const auto found = watchers_.find(job);
  if (found == watchers_.end()) return;
  auto& list = found->second;
  for (auto it = list.begin(); it != list.end();) {
    if (it->get() == watcher) {
      removed.push_back(std::move(*it));
      it = list.erase(it);
    } else {
      ++it;
    }
  }
  if (list.empty()) watchers_.erase(found);
}

std::vector<std::shared_ptr<Watcher>> WatchHub::Of(const std::string& job) const {
  MutexLock lock(mutex_);
  const auto found = watchers_.find(job);
  return found == watchers_.end() ? std::vector<std::shared_ptr<Watcher>>() : found->second;
}

void WatchHub::Publish(const std::string& job, std::shared_ptr<const JobEvent> event) {
  for (const auto& watcher : Of(job)) watcher->Deliver(event);
}

void WatchHub::PublishEphemeral(const std::string& job, const JobEvent& event) {
  for (const auto& watcher : Of(job)) watcher->Ephemeral(event);
}

void WatchHub::Finish(const std::string& job, const absl::Status& status) {
  std::vector<std::shared_ptr<Watcher>> ended;
  {
    MutexLock lock(mutex_);
    const auto found = watchers_.find(job);
    if (found == watchers_.end()) return;
    ended = std::move(found->second);
    watchers_.erase(found);
  }
  for (const auto& watcher : ended) watcher->Close(status);
}

void WatchHub::CloseAll(const absl::Status& status) {
  std::map<std::string, std::vector<std::shared_ptr<Watcher>>> all;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    closed_with_ = status;
    all.swap(watchers_);
  }
  for (const auto& [job, watchers] : all) {
    for (const auto& watcher : watchers) watcher->Close(status);
  }
}

void WatchHub::Tick(double now) {
  std::vector<std::shared_ptr<Watcher>> all;
  {
    MutexLock lock(mutex_);
    for (const auto& [job, watchers] : watchers_) {
      all.insert(all.end(), watchers.begin(), watchers.end());
    }
  }
  for (const auto& watcher : all) watcher->Tick(now);
}

bool WatchHub::IsWatched(const std::string& job) const {
  MutexLock lock(mutex_);
  return watchers_.count(job) > 0;
}

std::vector<std::string> WatchHub::WatchedJobs() const {
  std::vector<std::string> jobs;
  MutexLock lock(mutex_);
  for (const auto& [job, watchers] : watchers_) jobs.push_back(job);
  return jobs;
}

int WatchHub::size() const {
  std::size_t count = 0;
  MutexLock lock(mutex_);
  for (const auto& [job, watchers] : watchers_) count += watchers.size();
  return static_cast<int>(count);
}

}  // namespace kbench::server
