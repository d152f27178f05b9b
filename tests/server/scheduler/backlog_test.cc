#include "server/scheduler/backlog.h"

#include <gtest/gtest.h>

namespace kbench::scheduler {
namespace {

JobEntry Entry(PriorityClass priority_class, double submitted_at) {
  JobEntry entry;
  entry.priority_class = priority_class;
  entry.submitted_at = submitted_at;
  return entry;
}

TEST(Backlog, CountsCasesAndJobsByClassAndKnowsTheOldest) {
  Backlog backlog;
  const JobEntry sweep = Entry(PriorityClass::kBatch, 100);
  const JobEntry later = Entry(PriorityClass::kBatch, 200);
  const JobEntry typed = Entry(PriorityClass::kInteractive, 300);
  backlog.Add(later, true);
  backlog.Add(sweep, true);
  backlog.Add(sweep, false);
  backlog.Add(typed, true);
  EXPECT_EQ(backlog.cases(), 4);
  EXPECT_EQ(backlog.jobs(), 3);
  const Waiting batch = backlog.Of(PriorityClass::kBatch);
  EXPECT_EQ(batch.cases, 3);
  EXPECT_EQ(batch.jobs, 2);
  EXPECT_EQ(batch.oldest_submitted, 100);
  EXPECT_EQ(backlog.Of(PriorityClass::kCi).oldest_submitted, 0) << "none waits";

  backlog.Remove(sweep, false);
  EXPECT_EQ(backlog.Of(PriorityClass::kBatch).oldest_submitted, 100) << "its other case waits";
  backlog.Remove(sweep, true);
  EXPECT_EQ(backlog.Of(PriorityClass::kBatch).oldest_submitted, 200);
  EXPECT_EQ(backlog.cases(), 2);
}

}  // namespace
}  // namespace kbench::scheduler
