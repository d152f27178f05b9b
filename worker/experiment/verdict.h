// May the number be trusted? From the records of a cell and what the device said meanwhile. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kbench/v1/result.pb.h"
#include "worker/experiment/records.h"
#include "worker/experiment/stop_rule.h"

namespace kbench::experiment {

struct VerdictInput {
  StopState stop = StopState::kExhausted;
  double target_ratio = 0.005;
  double quantum_seconds = 0;
  bool cold = true;  // cold mode with a flush: traffic cannot come from a cache
  // A CPU: its roofs are measured on cores that others share, so beating one is no proof.
  bool shared_roofs = false;
  std::int64_t l2_bytes = 0;  // last-level cache, 0 when unknown
  v1::Throughput rates;
  v1::Telemetry telemetry;           // of the cell's rounds
  bool reverified = true;            // the checks after the rounds ran and passed
  bool grouped = false;              // not all cells were resident at once
  bool rounds_lost_to_heat = false;  // rounds were thrown away because of throttling
};

struct Judgement {
  v1::Verdict verdict = v1::VERDICT_VALID;
  // UPPER_SNAKE. Some (POWER_LIMITED, RESOLUTION_LIMITED, GROUPED, AUTOCORRELATED, FOREIGN_IDLE)
  // inform and leave the number VALID.
  std::vector<std::string> reasons;
  // For a person: why the number is not VALID; empty when it is.
  std::string explanation;
};

Judgement Judge(const CellRecord& record, const VerdictInput& input);

// What a throttle reason of the device means for a round, whether a sampled bit or a counter shows
// it.
enum class RoundFate { kKeep, kDiscard };
RoundFate FateOfRound(const v1::Telemetry& telemetry);

}  // namespace kbench::experiment
