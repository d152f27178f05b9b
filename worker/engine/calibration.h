// The decisions of a calibration, over arrays of times that somebody measured: what the clock's
// quantum is, whether a known duration came back, which flush is enough. Pure and thread-safe; what
// measures the arrays is in cpu_calibration.cc and cuda_calibration.cc. Seconds, bytes, byte/s.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/kbench_engine.h"

namespace kbench::engine {

// The middle value, or the mean of the two in the middle; 0 of none.
double Median(std::vector<double> values);

// The smallest step between two of the times that differ; steps of less than `noise_seconds` are
// the rounding of one value. 0 when no two times differ.
double Quantum(std::vector<double> times, double noise_seconds);

// How far a measured duration may lie from the expected one: the largest of 1 %, two quanta of the
// clock and two ticks of the timer that the kernel itself reads.
double AllowedError(double expected_seconds, double quantum_seconds, double tick_seconds);

// One kernel of known duration, launched several times.
struct KnownDurationTimes {
  std::vector<double> recorded;  // by the kernel's own timer
  std::vector<double> measured;  // by the engine's clock, the same launches in order
};

// What the clock adds to this kernel: the mean of the middle third of measured less recorded,
// launch by launch, so that a launch which really took longer is no error of the clock.
double AddedByClock(const KnownDurationTimes& times);

// Enters the duration into the calibration: `cost_seconds` is what the clock adds to a kernel
// however long it is. False when it is not within AllowedError().
bool CheckKnownDuration(const KnownDurationTimes& times, double cost_seconds, double tick_seconds,
                        kb_calibration* out);

struct FlushTime {
  std::int64_t bytes = 0;   // of each half of the flush
  double cold_seconds = 0;  // of a read after it
};

struct FlushChoice {
  std::int64_t bytes = 0;  // 0: there was nothing to choose from
  double cold_ratio = 0;   // cold over hot
};

inline constexpr double kFlushAgreement = 0.02;
inline constexpr double kLeastColdRatio = 1.05;

// The smallest size after which a read is as cold, within 2 %, as after every larger one; the
// largest one if there is no such. `by_size` ascends.
FlushChoice ChooseFlush(const std::vector<FlushTime>& by_size, double hot_seconds);

// Ends the calibration: the device answers, and lies.
void FailStep(const std::string& step, const std::string& message, kb_calibration* out);

// "1.28 us": for the messages.
std::string TimeText(double seconds);

}  // namespace kbench::engine
