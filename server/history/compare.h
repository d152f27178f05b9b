// Two stored results against each other. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/job.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::history {

// What makes two results unlike each other, one clause each: "driver 580.1 against 590.2". Empty
// when they answer the same question, whichever implementation gave the answer.
std::vector<std::string> KeyDifferences(const kbench::v1::Result& a, const kbench::v1::Result& b);

struct CompareOptions {
  double margin_ratio = 0;  // 0: the default
  bool force = false;       // compare what is not comparable; `reasons` and `message` still tell
  // Relative standard deviation of medians between sessions on the devices concerned.
  double between_session_ratio = 0;
};

// `a` against `b` as the baseline: by the rounds of both where they come from one attempt at one
// case, else as two sessions. Reasons: NO_NUMBER (one of them has no time), NOT_COMPARABLE,
// KEYS_DIFFER (compared by force), CLOCK_CONFOUNDED, SUSPECT, ENGINE_DIFFERS, FEW_ROUNDS.
kbench::v1::BaselineComparison CompareResults(const kbench::v1::Result& a,
                                              const kbench::v1::Result& b,
                                              const CompareOptions& options);

// Bounds the false discoveries of a family at 5 % (Benjamini-Hochberg): a `faster` or `slower` that
// does not hold up becomes `inconclusive` with the reason MANY_COMPARISONS. The p of a member is
// that of its ratio against its own interval (Student's t with as many degrees of freedom as the
// fewest rounds leave): a permutation of 8 rounds has no p below 0.008, and a large difference
// would drown among twenty sizes without one. Those without an interval do not belong to it, and
// one alone is no family.
void BoundFalseDiscoveries(const std::vector<kbench::v1::BaselineComparison*>& family);
// The same for a job's own table: all its comparisons with baselines are one family.
void BoundFalseDiscoveries(kbench::v1::Job* job);

}  // namespace kbench::history
