#include "worker/engine/own_threads.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench::engine {
namespace {

std::vector<int> CpusOf(int thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(thread, sizeof(set), &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// Spins or sleeps, as it is told, until the scope ends.
class PoolThread {
 public:
  PoolThread() : thread_([this] { Run(); }) {
    while (id_ == 0) std::this_thread::yield();
  }
  ~PoolThread() {
    stop_ = true;
    thread_.join();
  }
  int id() const { return id_; }
  void Spin(bool spin) { spin_ = spin; }

 private:
  void Run() {
    id_ = gettid();
    while (!stop_) {
      if (!spin_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  std::atomic<int> id_{0};
  std::atomic<bool> stop_{false}, spin_{false};
  std::thread thread_;
};

TEST(OwnThreadsTest, EachThreadHasItsPlaceAndTheCallerIsFreeAgain) {
  const auto all = CpusOf(0);
  if (all.size() < 2) GTEST_SKIP() << "one CPU: nothing to place";
  OwnThreads threads;
  PoolThread pool;
  threads.Place();
  EXPECT_THAT(CpusOf(0), testing::ElementsAre(all[0]));
  EXPECT_THAT(CpusOf(pool.id()), testing::ElementsAre(all[1]));
  threads.FreeCaller();
  EXPECT_EQ(CpusOf(0), all);
  EXPECT_THAT(CpusOf(pool.id()), testing::ElementsAre(all[1]));
  PoolThread late;  // started between bursts
  EXPECT_EQ(CpusOf(late.id()), all);
  threads.Place();
  EXPECT_EQ(CpusOf(late.id()).size(), 1u);
  threads.FreeCaller();
}

TEST(OwnThreadsTest, AnAwakeThreadIsWaitedFor) {
  PoolThread pool;
  EXPECT_TRUE(OwnThreads::WaitUntilAsleep(5));
  pool.Spin(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(OwnThreads::WaitUntilAsleep(0.05));
  pool.Spin(false);
  EXPECT_TRUE(OwnThreads::WaitUntilAsleep(5));
}

}  // namespace
}  // namespace kbench::engine
