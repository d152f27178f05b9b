#include "server/store/writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/store/apply.h"

namespace kbench::store {
namespace {

// Of the time that a commit takes, and at most so long, a group waits for those that are expected.
constexpr double kGatherShare = 0.3;
constexpr double kMostGatherSeconds = 2e-3;
constexpr std::size_t kMostGroup = 512;
constexpr double kUpkeepPatience = 1;

double Now() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

absl::Status RunSql(Database& db, const char* sql) {
  absl::StatusOr<Statement> statement = db.Prepare(sql);
  return statement.ok() ? statement->Run() : statement.status();
}

}  // namespace

Writer::Writer(std::unique_ptr<Database> db, std::unique_ptr<Checkpointer> checkpointer,
               Observe observe)
    : db_(std::move(db)),
      checkpointer_(std::move(checkpointer)),
      observe_(std::move(observe)),
      thread_([this] { Loop(); }) {}

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

void Writer::EnqueueUpkeep(Upkeep task, Done done) {
  {
    MutexLock lock(mutex_);
    upkeep_.push_back({std::move(task), std::move(done), Now()});
  }
  wake_.NotifyOne();
}

bool Writer::TakeUpkeep(Task& task) {
  MutexLock lock(mutex_);
  if (upkeep_.empty()) return false;
  if (!queue_.empty() && Now() - upkeep_.front().since < kUpkeepPatience) return false;
  task = std::move(upkeep_.front());
  upkeep_.pop_front();
  return true;
}

void Writer::Loop() {
  for (;;) {
    std::deque<Item> group;
    std::deque<Task> dropped;
    bool end = false;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && upkeep_.empty() && !stop_) wake_.Wait(mutex_);
      group.swap(queue_);
      end = group.empty() && stop_;
      if (stop_) dropped.swap(upkeep_);
    }
    for (Task& task : dropped) task.done(absl::CancelledError("the store is being closed"));
    if (end) return;
    if (!group.empty()) WriteGroup(group);
    for (Item& item : group) {
      if (item.done) item.done(item.status, item.sequences);
    }
    if (!group.empty()) checkpointer_->Committed(*db_);
    if (Task task; TakeUpkeep(task)) RunUpkeep(task);
  }
}

absl::Status Writer::ApplyOne(Item& item) {
  absl::Status status = RunSql(*db_, "SAVEPOINT batch");
  if (!status.ok()) return status;
  status = Apply(*db_, item.batch, item.sequences);
  if (!status.ok() && db_->InTransaction()) RunSql(*db_, "ROLLBACK TO batch").IgnoreError();
  if (db_->InTransaction()) RunSql(*db_, "RELEASE batch").IgnoreError();
  return status;
}

void Writer::ApplyFrom(std::deque<Item>& group, std::size_t first, absl::Status& all) {
  for (std::size_t i = first; i < group.size() && all.ok(); ++i) {
    group[i].status = ApplyOne(group[i]);
    // A full disk or a failing one ends the whole transaction.
    if (!db_->InTransaction()) all = group[i].status;
  }
}

bool Writer::Gather(std::deque<Item>& group) {
  const double until = last_end_ + std::min(kGatherShare * commit_seconds_, kMostGatherSeconds);
  MutexLock lock(mutex_);
  while (queue_.empty()) {
    const double left = until - Now();
    if (stop_ || group.size() >= last_group_ || left <= 0) return false;
    wake_.WaitFor(mutex_, left);
  }
  while (!queue_.empty() && group.size() < kMostGroup) {
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group.size() < kMostGroup;
}

void Writer::WriteGroup(std::deque<Item>& group) {
  const double start = Now();
  absl::Status all = RunSql(*db_, "BEGIN IMMEDIATE");
  std::size_t applied = 0;
  do {
    ApplyFrom(group, applied, all);
    applied = group.size();
  } while (all.ok() && Gather(group));
  ApplyFrom(group, applied, all);
  const double commit = Now();
  if (all.ok()) all = RunSql(*db_, "COMMIT");
  if (!all.ok()) {
    if (db_->InTransaction()) RunSql(*db_, "ROLLBACK").IgnoreError();
    for (Item& item : group) item.status = all;
  }
  last_end_ = Now();
  last_group_ = group.size();
  commit_seconds_ += 0.1 * (last_end_ - commit - commit_seconds_);
  if (observe_) observe_(last_end_ - start, static_cast<int>(group.size()));
}

void Writer::RunUpkeep(Task& task) {
  absl::Status status = RunSql(*db_, "BEGIN IMMEDIATE");
  if (status.ok()) status = task.run(*db_);
  if (status.ok()) status = RunSql(*db_, "COMMIT");
  if (!status.ok() && db_->InTransaction()) RunSql(*db_, "ROLLBACK").IgnoreError();
  checkpointer_->Committed(*db_);
  task.done(status);
}

}  // namespace kbench::store
