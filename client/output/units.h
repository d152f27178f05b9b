// Numbers as people read them: four digits and a unit. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "kbench/v1/result.pb.h"

namespace kbench::client {

std::string FormatSeconds(double seconds);            // "190.1 us"
std::string FormatSecondsRoughly(double seconds);     // "43 s", "2.1 min"
std::string FormatFlops(double flops_per_second);     // "724.3 TFLOP/s"
std::string FormatBytes(double bytes_per_second);     // "3.352 TB/s" (powers of 1000)
std::string FormatSize(double bytes);                 // "141 GiB" (powers of 1024)
std::string FormatPercent(double ratio);              // "0.21%"
std::string FormatFactor(double factor);              // "0.520x", "1.25x"
std::string FormatMinute(std::int64_t unix_seconds);  // "2026-12-02 02:00", local time
std::string FormatError(double relative_error);       // "2.1e-4"
// "1 canary", "2 canaries".
std::string FormatCount(long count, const std::string& one, const std::string& many);

// The half-width of the interval over the median; 0 when there is none.
double IntervalRatio(const kbench::v1::TimeDistribution& time);
// FLOP/s where a launch computes more than it moves, else byte/s; "-" when it does neither (null).
std::string FormatRate(const kbench::v1::Throughput& throughput);
// "0.5 %" or "0.005" as a ratio; false when it is neither.
bool ParseRatio(const std::string& text, double* ratio);
// "500ms", "60s", "10m", "1h", "7d" in seconds. False when it is none, and for a bare number.
bool ParseDuration(const std::string& text, double* seconds);

}  // namespace kbench::client
