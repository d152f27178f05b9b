#include "server/scheduler/load_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "server/scheduler/state.h"

namespace kbench::scheduler {
namespace {

Load LoadOf(std::int64_t cases, double seconds, double since = 0) {
  return {1, cases, seconds, seconds, 2 * seconds, since};
}

TEST(LoadTree, AnEmptyOneHasNothing) {
  LoadTree tree;
  EXPECT_TRUE(tree.empty());
  EXPECT_EQ(tree.Total(), Load());
  EXPECT_EQ(tree.Before({500, 1, 1, 1}), Load());
  EXPECT_EQ(tree.Within(100), Load());
  tree.Erase({500, 1, 1, 1});
  EXPECT_TRUE(tree.empty());
}

TEST(LoadTree, HigherPriorityThenEarlierTurnThenOrder) {
  LoadTree tree;
  JobState jobs[4];
  tree.Put({500, 20, 1, 1}, &jobs[0], LoadOf(1, 1));
  tree.Put({500, 10, 3, 2}, &jobs[1], LoadOf(1, 1));
  tree.Put({900, 99, 9, 3}, &jobs[2], LoadOf(1, 1));
  tree.Put({500, 10, 2, 4}, &jobs[3], LoadOf(1, 1));
  const JobState* const expected[] = {&jobs[2], &jobs[3], &jobs[1], &jobs[0]};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(tree.At(i).job, expected[i]) << i;
}

TEST(LoadTree, AJobThatIsCutCountsTheCasesThatBegin) {
  LoadTree tree;
  JobState job;
  tree.Put({500, 1, 1, 1}, &job, LoadOf(10, 50));
  EXPECT_EQ(tree.Within(0).cases, 0);
  EXPECT_EQ(tree.Within(0.1).cases, 1);
  EXPECT_EQ(tree.Within(5).cases, 1) << "the second begins at 5 s, not within";
  EXPECT_EQ(tree.Within(5.1).cases, 2);
  EXPECT_DOUBLE_EQ(tree.Within(5.1).seconds, 10);
  EXPECT_EQ(tree.Within(1000).cases, 10);
}

TEST(LoadTree, ASearchThatGoesOnAnswersAsOneFromTheRoot) {
  std::mt19937 random(11);
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  for (const int jobs : {0, 1, 2, 7, 500}) {
    LoadTree tree;
    JobState job;
    for (int i = 0; i < jobs; ++i) {
      // Thirds, whose sums are rounded; some of no time at all.
      tree.Put({500, static_cast<double>(pick(50)), i, i}, &job,
               LoadOf(1 + pick(3), pick(4) / 3.0, pick(100)));
    }
    LoadTree::Search search(tree);
    double at = tree.Total().seconds / 2;
    for (int step = 0; step < 5000; ++step) {
      // Near the last one, far away, or just where a job ends.
      at += (pick(200) - 100) / 30.0;
      if (pick(20) == 0) at = pick(1000) / 3.0 - 10;
      if (jobs > 0 && pick(3) == 0) at = tree.At(pick(jobs)).before.seconds;
      ASSERT_EQ(search.Within(at), tree.Within(at)) << jobs << " jobs, " << at << " s";
    }
  }
}

// Everything against the same kept in a plain map.
TEST(LoadTree, AgreesWithAWalk) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  LoadTree tree;
  JobState job;
  std::map<OwnKey, Load> plain;
  for (int step = 0; step < 4000; ++step) {
    const OwnKey key{pick(3), static_cast<double>(pick(20)), pick(4), pick(5)};
    if (pick(3) == 0) {
      tree.Erase(key);
      plain.erase(key);
    } else {
      const Load load = LoadOf(1 + pick(4), 1 + pick(9), pick(100));
      tree.Put(key, &job, load);
      plain[key] = load;
    }
    const OwnKey probe{pick(3), static_cast<double>(pick(20)), pick(4), pick(5)};
    Load total;
    Load before;
    std::int64_t within = 0;
    const double limit = pick(200) + 0.5;
    std::int64_t index = 0;
    const std::int64_t at = plain.empty() ? 0 : pick(static_cast<int>(plain.size()));
    for (const auto& [one, load] : plain) {
      if (index++ == at) {
        EXPECT_EQ(tree.At(at).key, one);
        EXPECT_EQ(tree.At(at).before, total);
      }
      if (one < probe) before += load;
      for (std::int64_t i = 0; i < load.cases; ++i) {
        const double begins =
            total.seconds + load.seconds * static_cast<double>(i) / static_cast<double>(load.cases);
        within += begins < limit - 1e-6 ? 1 : 0;
      }
      total += load;
    }
    ASSERT_EQ(tree.Total(), total) << step;
    ASSERT_EQ(tree.Before(probe), before) << step;
    ASSERT_EQ(tree.Within(limit).cases, within) << step;
  }
}

}  // namespace
}  // namespace kbench::scheduler
