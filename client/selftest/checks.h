// The lines of the selftest's page: what was looked at, the numbers, and whether they hold. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::client::selftest {

constexpr int kFewPairs = 20;  // below, what is allowed would hide any fault

enum class State { kPass, kFail, kNote };  // a note has nothing to pass

struct Check {
  std::string name;
  State state = State::kNote;
  std::string text;                           // the numbers, for a person
  std::map<std::string, double> counts = {};  // those of RunChecks(), for a program
};

// False when one line says FAIL.
bool AllPassed(const std::vector<Check>& checks);

// What the device's calibration says (calibration.cc): the stopwatch, kernels of known duration,
// flush, roofs, canaries.
std::vector<Check> CalibrationChecks(const kbench::v1::Device& device);

// Elements of a fp32 copy for the fixtures, a power of two: a plain copy of them takes 4 to 8 us. A
// fixture works many times as long, some nine times on an H200 (35 us for 2^21), more on a CPU.
std::int64_t CopyElements(const kbench::v1::Device& device);

// One submit of two fixtures.
struct PairRun {
  bool measured = false;     // both have a time
  kbench::v1::Result first;  // selftest/a
  std::string verdict;       // of the second fixture against it
  double speedup = 0;
};

// `same`: a against b, the same work twice. `slower`: a against one with 2 % more work.
std::vector<Check> RunChecks(const std::vector<PairRun>& same, const std::vector<PairRun>& slower);

}  // namespace kbench::client::selftest
