#include "worker/engine/cpu_timeline.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "worker/engine/burst.h"
#include "worker/engine/cache_flush.h"

namespace kbench::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

int Spin(void* user, void*) {
  const double seconds = *static_cast<double*>(user);
  const auto begin = SteadyClock::now();
  while (SecondsSince(begin) < seconds) {
  }
  return 0;
}

double Shortest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

std::vector<double> Measure(CpuTimeline& timeline, FlushKind flush, int samples, kb_launch launch,
                            void* user) {
  BurstRunner runner(timeline);
  BurstOutcome out;
  EXPECT_FALSE(runner.Run({samples, 0, flush}, {launch, user, nullptr}, &out));
  EXPECT_EQ(out.device_seconds.size(), static_cast<std::size_t>(samples));
  return out.device_seconds;
}

TEST(CpuTimelineTest, TimesAKnownDuration) {
  CpuTimeline timeline(1);
  for (double seconds : {100e-6, 500e-6, 1e-3}) {
    // The shortest of a few: the machine may take the core away from any one of them.
    const double shortest = Shortest(Measure(timeline, FlushKind::kNone, 10, Spin, &seconds));
    EXPECT_GE(shortest, seconds);
    EXPECT_LE(shortest, seconds * 1.05);
  }
}

TEST(CpuTimelineTest, SaysWhatItIs) {
  CpuTimeline timeline(2);
  const TimelineFacts facts = timeline.Facts();
  EXPECT_EQ(facts.mechanism, "steady-clock");
  EXPECT_FALSE(facts.has_queue);
  EXPECT_GT(facts.quantum_seconds, 0);
  EXPECT_LT(facts.quantum_seconds, 10e-6);
}

// A walk over the lines of a buffer in an order that no prefetcher foresees, each address read from
// the line before: its time is the latency of wherever the lines lie. (A plain sum over the same
// bytes was as fast cold as hot on a machine whose prefetchers keep up with one addition a cycle.)
class Walk {
 public:
  Walk() {
    std::vector<std::size_t> order(lines_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
    for (std::size_t i = 0; i < order.size(); ++i) {
      lines_[order[i]].next = &lines_[order[(i + 1) % order.size()]];
    }
  }
  const void* data() const { return lines_.data(); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(lines_.size() * sizeof(Line)); }

  static int Launch(void* user, void*) {
    auto* walk = static_cast<Walk*>(user);
    const Line* line = walk->lines_.data();
    for (std::size_t i = 0; i < walk->lines_.size(); ++i) line = line->next;
    walk->end_ = line;
    return 0;
  }

 private:
  struct alignas(64) Line {
    const Line* next = nullptr;
  };
  // Half of a core's own caches at most: a hot walk finds it there.
  std::vector<Line> lines_ = std::vector<Line>(
      static_cast<std::size_t>(std::min<std::int64_t>(PrivateCacheBytes() / 2, 512 << 10) / 64));
  const volatile Line* end_ = nullptr;
};

TEST(CpuTimelineTest, ACleanFlushMakesAReadColder) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "an instrumented read does not wait for memory";
#endif
  Walk walk;
  CpuTimeline timeline(1);
  timeline.SetOperands({{walk.data(), walk.bytes()}});
  EXPECT_EQ(timeline.Facts().flush_bytes, walk.bytes());
  (void)Measure(timeline, FlushKind::kNone, 5, Walk::Launch, &walk);
  const double hot = Shortest(Measure(timeline, FlushKind::kNone, 30, Walk::Launch, &walk));
  const double cold = Shortest(Measure(timeline, FlushKind::kClean, 30, Walk::Launch, &walk));
  const double dirty = Shortest(Measure(timeline, FlushKind::kDirty, 30, Walk::Launch, &walk));
  RecordProperty("cold_over_hot", std::to_string(cold / hot));
  EXPECT_GT(cold, 1.5 * hot) << EvictionInstruction();
  EXPECT_GT(dirty, 1.5 * hot);
}

TEST(CpuTimelineTest, EvictionLeavesTheDataAsItWas) {
  std::vector<unsigned char> data(1000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7);
  EvictLines(data.data() + 3, 990);  // neither end on a line
  EvictLines(data.data(), 0);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data[i], static_cast<unsigned char>(i * 7));
  }
  EXPECT_GT(PrivateCacheBytes(), 0);
}

TEST(CpuTimelineTest, AnotherTaskOnTheCoreIsNoticed) {
  // Two busy threads on one core: each waits about half of the time.
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  double seconds = 0.3;
  std::thread rival([seconds]() mutable { Spin(&seconds, nullptr); });
  CpuTimeline timeline(1);
  (void)timeline.Disturbances();
  Spin(&seconds, nullptr);
  EXPECT_TRUE(timeline.Disturbances() & KB_FLAG_STOLEN);
  rival.join();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace kbench::engine
