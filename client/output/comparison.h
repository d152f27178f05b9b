// Two results against each other as text: table, json, csv or markdown. Pure but for the stream;
// used from one thread.
#pragma once

#include <string>
#include <vector>

#include "client/io.h"
#include "client/output/report.h"
#include "kbench/v1/result.pb.h"

namespace kbench::client {

struct ComparedPair {
  kbench::v1::Result a;
  kbench::v1::Result b;
  kbench::v1::BaselineComparison comparison;  // of a, with b as the baseline
};

// "a is faster than b: 1.32x [1.31, 1.33], by round", "inconclusive: 1.01x [0.99, 1.03] ...".
std::string ComparisonSentence(const kbench::v1::BaselineComparison& comparison);

void PrintComparisons(Io& io, Format format, const std::vector<ComparedPair>& pairs);

// "k3f9x2ab-0-1" from "results/k3f9x2ab-0-1".
std::string ShortResultName(const std::string& name);
// The other way round; also of a whole name.
std::string WholeResultName(const std::string& name);
// JOB-CASE-CELL, with or without "results/".
bool IsResultName(const std::string& name);

}  // namespace kbench::client
