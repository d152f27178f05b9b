// Outputs to check, computed by plain loops that share nothing with the references but the
// definition of the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/catalog/catalog.h"
#include "kernels/reference/checker.h"

namespace kbench::reference {

Problem Make(const std::string& kernel, const std::string& dtype, const std::string& size);

// A float with the mantissa cut to TF32's 10 bits; rounded to nearest, or truncated.
double RoundToTf32(double value);
double TruncateToTf32(double value);

// The output in fp64; `see` is what the products see of an input.
std::vector<double> Compute(const Problem& problem, std::uint64_t seed,
                            const std::function<double(double)>& see = nullptr);

// Values as the output operand stores them.
std::vector<char> Store(const Problem& problem, const std::vector<double>& values);

// Stores and checks against a fresh reference.
CheckResult CheckValues(const Problem& problem, std::uint64_t seed,
                        const std::vector<double>& values);

// What a correct implementation writes must pass well inside of its tolerance, and the usual wrong
// outputs (zeros, NaN, infinity, scaled, another seed's, all rows moved by one) must not.
void ExpectSoundChecks(const Problem& problem, const std::string& method);

}  // namespace kbench::reference
