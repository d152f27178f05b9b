// What a cell's new results are compared with. Pure; thread-safe.
//
// A learned baseline is the median of the cell's own VALID results in one environment: from the
// fifth (fewer process launches leave no robust median, and no interval by ranks) up to the
// twentieth, and then it stands still. It does not follow the newest results: a kernel that slows
// by 0.1 % a night would take such a baseline along and never be called slower. It moves when the
// cell becomes faster for good (five results in a row faster by every gate), when the environment
// changes, and when somebody pins a result.
// A pinned baseline is one result; nothing but a person moves it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kbench/v1/history_service.pb.h"
#include "server/history/noise.h"

namespace kbench::history {

inline constexpr int kLeastBaselineResults = 5;
inline constexpr int kMostBaselineResults = 20;

// `counted`: VALID results of one level and environment, oldest first; the first twenty make it.
// Nothing below five.
std::optional<v1::Baseline> LearnedBaseline(std::span<const v1::HistoryPoint> counted,
                                            const Noise& noise);

// `since`: when it was pinned.
v1::Baseline PinnedBaseline(const v1::HistoryPoint& point, const std::string& by,
                            const google::protobuf::Timestamp& since, const Noise& noise);

bool IsPinned(const v1::Baseline& baseline);

}  // namespace kbench::history
