#include "server/store/writer.h"

#include <chrono>
#include <utility>

#include "server/store/apply.h"

namespace kbench::store {

Writer::Writer(std::unique_ptr<Database> db, Observe observe)
    : db_(std::move(db)), observe_(std::move(observe)), thread_([this] { Loop(); }) {}

Writer::~Writer() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void Writer::Enqueue(Batch batch, Committed done) {
  {
    MutexLock lock(mutex_);
    queue_.push_back({std::move(batch), std::move(done), absl::OkStatus(), {}});
  }
  wake_.NotifyOne();
}

void Writer::Loop() {
  for (;;) {
    std::deque<Item> group;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stop_) wake_.Wait(mutex_);
      if (queue_.empty()) return;
      group.swap(queue_);
    }
    WriteGroup(group);
    for (Item& item : group) {
      if (item.done) item.done(item.status, item.sequences);
    }
  }
}

absl::Status Writer::ApplyOne(Item& item) {
  absl::Status status = db_->Execute("SAVEPOINT batch");
  if (!status.ok()) return status;
  status = Apply(*db_, item.batch, item.sequences);
  if (!status.ok() && db_->InTransaction()) db_->Execute("ROLLBACK TO batch").IgnoreError();
  if (db_->InTransaction()) db_->Execute("RELEASE batch").IgnoreError();
  return status;
}

void Writer::WriteGroup(std::deque<Item>& group) {
  const auto start = std::chrono::steady_clock::now();
  absl::Status all = db_->Execute("BEGIN IMMEDIATE");
  for (Item& item : group) {
    if (!all.ok()) break;
    item.status = ApplyOne(item);
    // A full disk or a failing one ends the whole transaction.
    if (!db_->InTransaction()) all = item.status;
  }
  if (all.ok()) all = db_->Execute("COMMIT");
  if (!all.ok()) {
    if (db_->InTransaction()) db_->Execute("ROLLBACK").IgnoreError();
    for (Item& item : group) item.status = all;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (observe_) observe_(took.count(), static_cast<int>(group.size()));
}

}  // namespace kbench::store
