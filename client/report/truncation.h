// Whether a product in tf32 shows that its inputs were truncated instead of rounded. Pure;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/report/evidence.h"

namespace kbench::client {

// tf32 keeps 10 bits behind the leading one: rounding to it errs by at most 2^-11 of a number.
// Products of rounded inputs stay below that in the norm, those of truncated ones, which err by up
// to 2^-10 and always in one direction, do not; beyond 2^-9 it is something else.
inline constexpr double kTf32Roundoff = 1.0 / 2048;
inline constexpr double kMostOfTruncation = 1.0 / 512;

enum class Inputs { kUnknown, kRounded, kTruncated, kWorse };
Inputs InputsOf(double relative_error);

struct Truncation {
  std::string shape;
  std::string implementation;
  double relative_error = 0;
  Inputs inputs = Inputs::kUnknown;
};
// A row for each implementation of matmul tf32, at its largest shape that was verified.
std::vector<Truncation> TruncationsOf(const Evidence& evidence);
// What the rows say together: "triton shows the truncation of its inputs: ..."; empty where nothing
// was measured.
std::string TruncationSentence(const std::vector<Truncation>& rows);

}  // namespace kbench::client
