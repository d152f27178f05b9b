// How long, and how many bytes of, what is kept: raw samples, logs, code and other artifacts, and
// the events of ended jobs. Results are kept for ever. Plain values and their grammar.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace kbench::store {

enum class Kind { kSamples, kLogs, kArtifacts, kEvents };
inline constexpr std::array<Kind, 4> kKinds = {Kind::kSamples, Kind::kLogs, Kind::kArtifacts,
                                               Kind::kEvents};
const char* KindName(Kind kind);  // "samples": the label of kbench_store_bytes

// 0: no bound.
struct Keep {
  double seconds = 0;
  std::int64_t bytes = 0;
};

struct Retention {
  static constexpr double kDay = 86'400;
  static constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  std::array<Keep, 4> keep = {
      Keep{90 * kDay, 8 * kGiB},  // raw samples
      Keep{30 * kDay, 1 * kGiB},  // what runners printed
      Keep{90 * kDay, 4 * kGiB},  // code, profiles
      Keep{30 * kDay, 1 * kGiB},  // events
  };
  const Keep& Of(Kind kind) const { return keep[static_cast<std::size_t>(kind)]; }
  Keep& Of(Kind kind) { return keep[static_cast<std::size_t>(kind)]; }
};

// "30d", "4GiB", "30d,4GiB", "forever". Units s, m, h, d and B, KiB, MiB, GiB, TiB. What is not
// named has no bound. INVALID_ARGUMENT says what would be right.
absl::StatusOr<Keep> ParseKeep(const std::string& text);
std::string KeepText(const Keep& keep);

}  // namespace kbench::store
