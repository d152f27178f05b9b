// A crash of the machine: what was acknowledged is there, whatever the disk had not been told to
// keep.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "server/store/sqlite.h"
#include "tests/server/store/conformance.h"
#include "tests/server/store/losing_vfs.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::store {
namespace {

// Commits without a pause from several threads until the power fails; what was acknowledged by
// then.
class Committer {
 public:
  explicit Committer(Store& store) : store_(store) {
    for (int i = 0; i < 4; ++i) threads_.emplace_back([this, i] { Run(i); });
  }
  std::set<std::string> acknowledged() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return acknowledged_;
  }
  std::set<std::string> End() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    return acknowledged_;
  }

 private:
  void Run(int number) {
    for (int i = 0; !stop_; ++i) {
      const std::string name = "jobs/t" + std::to_string(number) + "-" + std::to_string(i);
      const auto status = CommitNow(store_, JobBatch(MakeJob(name, 2, ++order_))).first;
      if (!status.ok()) return;
      const std::lock_guard<std::mutex> lock(mutex_);
      acknowledged_.insert(name);
    }
  }

  Store& store_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> order_ = 0;
  std::mutex mutex_;
  std::set<std::string> acknowledged_;
  std::vector<std::thread> threads_;
};

absl::StatusOr<std::unique_ptr<Store>> OpenLosing(const TempDir& dir) {
  return OpenSqliteStore({.data_dir = dir.path(), .vfs = LosingVfs::Name()});
}

// Of the jobs acknowledged before the power failed, how many are gone afterwards.
int Lost(const TempDir& dir, bool lie, std::size_t least, int* undone) {
  std::set<std::string> acknowledged;
  {
    auto store = OpenLosing(dir);
    EXPECT_TRUE(store.ok()) << store.status();
    LosingVfs::LieAboutSyncs(lie);
    Committer committer(**store);
    while (committer.acknowledged().size() < least) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    *undone = LosingVfs::LosePower();
    // Fails from now on: what is acknowledged here was before.
    acknowledged = committer.End();
  }
  LosingVfs::Reset();
  EXPECT_GE(acknowledged.size(), least);
  const auto store = OpenLosing(dir);
  if (!store.ok()) return static_cast<int>(acknowledged.size());
  int lost = 0;
  for (const std::string& name : acknowledged) {
    if (!(*store)->GetJob(name, false).ok()) ++lost;
  }
  const auto problems = (*store)->upkeep().Check();
  EXPECT_TRUE(lie || (problems.ok() && problems->empty()));
  return lost;
}

TEST(PowerLoss, WhatWasAcknowledgedIsThere) {
  int undone_in_all = 0;
  // Enough for the log to be moved into the file in some of them.
  for (const std::size_t least : {1, 40, 400, 1500}) {
    LosingVfs::Reset();
    TempDir dir;
    int undone = 0;
    EXPECT_EQ(Lost(dir, false, least, &undone), 0) << "after " << least;
    undone_in_all += undone;
  }
  RecordProperty("undone_writes", undone_in_all);
}

TEST(PowerLoss, ADiskThatLiesLosesThem) {
  LosingVfs::Reset();
  TempDir dir;
  int undone = 0;
  EXPECT_GT(Lost(dir, true, 100, &undone), 0) << "or the test above proves nothing";
  EXPECT_GT(undone, 0);
}

}  // namespace
}  // namespace kbench::store
