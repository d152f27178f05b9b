// Positions and orders against what really happens next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "tests/server/scheduler/lab.h"

namespace kbench::scheduler {
namespace {

// Decay and age do not change the order meanwhile: positions do not foresee them.
Options Timeless() {
  Options options = Lab::Policy();
  options.half_life_seconds = 1e15;
  options.aging_seconds = 1e11;
  options.bound_seconds = 1e12;
  options.turn_factor = 1e-3;  // the shortest first, and no second turn
  return options;
}

void FillAtRandom(Lab& lab, std::mt19937& random, int classes) {
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  lab.Submit({.owner = "somebody", .priority_class = PriorityClass::kBatch, .estimate = 7});
  for (int i = 0; i < 40; ++i) {
    lab.Submit({.owner = "o" + std::to_string(pick(5)),
                .priority_class = static_cast<PriorityClass>(pick(classes)),
                .cases = 1 + pick(5),
                .estimate = 1.0 + pick(40) + 0.001 * i,
                .priority = 500 + 100 * pick(2)});
  }
}

// How many cases begin before each job's first one, when nothing else comes.
std::map<std::string, int> StartsBefore(const Lab& lab) {
  std::map<std::string, int> before;
  int starts = 0;
  for (const Ran& one : lab.ran()) before.emplace(one.job, starts++);
  return before;
}

TEST(Position, IsTheNumberOfCasesThatBeginBefore) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    Lab lab(1, Timeless());
    FillAtRandom(lab, random, 3);
    std::map<std::string, int> positions;
    std::vector<std::string> order;
    for (const WaitingJob& job : lab.scheduler().View(lab.now(), 1000).waiting) {
      order.push_back(job.job);
      positions[job.job] = job.position;
      EXPECT_EQ(job.position, lab.scheduler().QueuePosition(job.job));
    }
    ASSERT_EQ(order.size(), 40u);
    lab.RunAll();
    const auto before = StartsBefore(lab);
    int last = -1;
    for (const std::string& job : order) {
      EXPECT_EQ(positions.at(job), before.at(job)) << "seed " << seed << " " << job;
      EXPECT_GT(before.at(job), last) << "the view is in the order in which they start";
      last = before.at(job);
    }
  }
}

TEST(Position, TheExpectedStartIsTheRealOneWhenEstimatesAreRight) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    Lab lab(1, Timeless());
    FillAtRandom(lab, random, 3);
    const QueueView view = lab.scheduler().View(lab.now(), 1000);
    lab.RunAll();
    std::map<std::string, double> started;
    for (const Ran& one : lab.ran()) started.emplace(one.job, one.started);
    for (const WaitingJob& job : view.waiting) {
      ASSERT_TRUE(job.start.known);
      EXPECT_LE(job.start.earliest, started.at(job.job) + 1e-6) << "seed " << seed;
      EXPECT_GE(job.start.latest, started.at(job.job) - 1e-6) << "seed " << seed;
    }
  }
}

TEST(Position, PromotedOnesTakeTurnsWithInteractiveOnes) {
  int compared = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    Options options = Lab::Policy();
    options.half_life_seconds = 1e15;
    Lab lab(1, options);
    for (int i = 0; i < 12; ++i) {
      lab.Submit({.owner = "o" + std::to_string(i), .estimate = 9000});
    }
    lab.RunAll();  // so much that ana stays the one who has used less
    lab.Submit({.owner = "ana", .cases = 600, .estimate = 9});
    for (int i = 0; i < 12; ++i) {
      const auto priority_class = i % 2 == 0 ? PriorityClass::kBatch : PriorityClass::kCi;
      lab.Submit({.owner = "o" + std::to_string(i), .priority_class = priority_class, .cases = 3});
      lab.RunUntil(lab.now() + pick(3));
    }
    lab.RunUntil(lab.now() + 1800 + pick(100));
    std::map<std::string, int> positions;
    for (const WaitingJob& job : lab.scheduler().View(lab.now(), 1000).waiting) {
      if (job.promoted) positions[job.job] = job.position;
    }
    const std::size_t had = lab.ran().size();
    lab.RunUntil(lab.now() + 200);
    std::set<std::string> seen;
    for (std::size_t i = had; i < lab.ran().size(); ++i) {
      const Ran& one = lab.ran()[i];
      if (!seen.insert(one.job).second || positions.count(one.job) == 0) continue;
      ++compared;  // what ran when it was asked counts as well
      EXPECT_EQ(positions.at(one.job), static_cast<int>(i - had) + 1) << "seed " << seed;
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(Position, OtherDevicesDoNotCount) {
  Lab lab(2, Timeless());
  lab.Submit({.device = "gpu0"});
  lab.Submit({.device = "gpu1"});
  lab.Submit({.cases = 10, .device = "gpu0"});
  const std::string job = lab.Submit({.owner = "bob", .device = "gpu1"});
  EXPECT_EQ(lab.scheduler().QueuePosition(job), 1);
  const std::string either = lab.Submit({.owner = "eve"});
  EXPECT_EQ(lab.scheduler().QueuePosition(either), 3) << "what runs on both, and bob's";
}

}  // namespace
}  // namespace kbench::scheduler
