#include "server/rpc/queue_hub.h"

#include <algorithm>
#include <utility>

#include "proto/support/error.h"

namespace kbench::server {
namespace {

constexpr std::size_t kMostGroups = 256;

std::size_t ContentOf(kbench::v1::QueueSnapshot& snapshot) {
  const google::protobuf::Timestamp time = snapshot.time();
  snapshot.clear_time();
  const std::size_t content = std::hash<std::string>()(snapshot.SerializeAsString());
  *snapshot.mutable_time() = time;
  return content;
}

void Drop(std::vector<std::shared_ptr<QueueWatcher>>& list, const QueueWatcher* watcher) {
  std::erase_if(list, [&](const auto& one) { return one.get() == watcher; });
}

}  // namespace

bool QueueHub::Add(const Request& request, std::shared_ptr<QueueWatcher> watcher) {
  const std::string key = request.SerializeAsString();
  absl::Status status;
  {
    MutexLock lock(mutex_);
    const bool full = groups_.size() >= kMostGroups && groups_.count(key) == 0;
    if (!closed_ && !full) {
      Group& group = groups_[key];
      group.request = request;
      group.watchers.push_back(watcher);
      group.fresh.push_back(std::move(watcher));
      return true;
    }
    status = closed_ ? closed_with_
                     : MakeError(absl::StatusCode::kResourceExhausted,
                                 "the queue is watched in too many different ways; leave out the "
                                 "owner or the device, or try again later",
                                 {.reason = "TOO_MANY_WATCHES", .retry_after_seconds = 30});
  }
  watcher->Close(status);
  return false;
}

void QueueHub::Remove(const QueueWatcher* watcher) {
  std::shared_ptr<QueueWatcher> removed;  // destroyed outside the lock
  MutexLock lock(mutex_);
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    auto& list = group->second.watchers;
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const auto& one) { return one.get() == watcher; });
    if (found == list.end()) continue;
    removed = *found;
    Drop(list, watcher);
    Drop(group->second.fresh, watcher);
    if (list.empty()) groups_.erase(group);
    return;
  }
}

void QueueHub::Take(kbench::v1::QueueSnapshot snapshot, double now, double ping_seconds,
                    Group& group, Tell& tell) {
  const std::size_t content = ContentOf(snapshot);
  const bool changed = group.newest == nullptr || content != group.content;
  const bool again = changed || now - group.told_at >= ping_seconds;
  if (again) {
    group.content = content;
    group.newest = std::make_shared<const kbench::v1::QueueSnapshot>(std::move(snapshot));
    group.told_at = now;
  }
  for (const auto& watcher : again ? group.watchers : group.fresh) {
    tell.emplace_back(watcher, group.newest);
  }
  group.fresh.clear();
}

void QueueHub::Tick(double now, const Look& look) {
  std::vector<std::string> keys;
  std::vector<Request> requests;
  std::vector<std::shared_ptr<QueueWatcher>> all;
  {
    MutexLock lock(mutex_);
    const bool due = now - looked_at_ >= least_seconds_;
    for (const auto& [key, group] : groups_) {
      all.insert(all.end(), group.watchers.begin(), group.watchers.end());
      if (!due && group.newest != nullptr) continue;
      keys.push_back(key);
      requests.push_back(group.request);
    }
    if (due) looked_at_ = now;
  }
  Tell tell;
  if (!requests.empty()) {
    std::vector<kbench::v1::QueueSnapshot> snapshots = look(requests);
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < keys.size() && i < snapshots.size(); ++i) {
      const auto found = groups_.find(keys[i]);
      if (found == groups_.end()) continue;  // all have left meanwhile
      Take(std::move(snapshots[i]), now, ping_seconds_, found->second, tell);
    }
  }
  for (const auto& watcher : all) watcher->Tick(now);
  for (const auto& [watcher, snapshot] : tell) watcher->Deliver(snapshot);
}

void QueueHub::CloseAll(const absl::Status& status) {
  std::map<std::string, Group> all;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    closed_with_ = status;
    all.swap(groups_);
  }
  for (const auto& [key, group] : all) {
    for (const auto& watcher : group.watchers) watcher->Close(status);
  }
}

int QueueHub::size() const {
  std::size_t count = 0;
  MutexLock lock(mutex_);
  for (const auto& [key, group] : groups_) count += group.watchers.size();
  return static_cast<int>(count);
}

}  // namespace kbench::server
