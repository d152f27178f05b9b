// How far the median of one and the same cell moves from session to session (fresh processes, other
// addresses, other minutes) beyond what it moves within one. Pure; thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace kbench {

struct CanarySession {
  std::string cell;            // "sum fp32 n=16777216 cuda/vec4"
  double log_median = 0;       // of the session's burst medians, seconds
  double within_variance = 0;  // of log_median, from the spread of the bursts
};

// One session of a cell from the medians of its bursts (at least 2, all positive).
CanarySession SessionOf(const std::string& cell, std::span<const double> burst_medians);

// Relative standard deviation between sessions: of each cell 1.4826 * MAD of the last 20 log
// medians, less the within-session variance; the largest of the cells'. 0 without two sessions.
double BetweenSessionRatio(std::span<const CanarySession> sessions);

// The number of sessions of the cell that has most, at most 20.
int SessionCount(std::span<const CanarySession> sessions);

// Drops what BetweenSessionRatio() does not look at.
void KeepLatest(std::vector<CanarySession>* sessions);

}  // namespace kbench
