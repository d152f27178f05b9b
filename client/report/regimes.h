// Where a kernel is bound by its launch, by memory or by arithmetic, and where an abstraction costs
// something there. Pure; thread-safe. The rules stand in client/README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/report/ratio.h"
#include "client/report/series.h"

namespace kbench::client {

enum class Regime { kUnknown, kLaunch, kMemory, kCompute };
// "launch-bound", "memory-bound", "compute-bound", "not told".
std::string RegimeName(Regime regime);

// One implementation is ahead of another, behind or neither. Half of the essay's smallest loss
// (95 %) is the border.
inline constexpr double kTieMargin = 0.025;
enum class Side { kUnknown, kBehind, kTie, kAhead };
// By the whole interval; kUnknown where it reaches over a border, or without one.
Side SideOf(const Ratio& speed);
Side SideOf(double speed);
std::string SideName(Side side);  // "behind", "tie", "ahead", "undecided"

// A launch decides how long one waits: the worker's regime says so, or a call takes more than twice
// as long from end to end, by the low end of its interval, as on the device.
inline constexpr double kLaunchFactor = 2;
bool IsLaunchBound(const kbench::v1::Result& row);

// At one size.
struct SizeRegime {
  double extent = 0;
  Regime regime = Regime::kUnknown;
  std::string why;                                // the numbers that decided
  const kbench::v1::Result* subject = nullptr;    // may be null
  const kbench::v1::Result* reference = nullptr;  // may be null
  Ratio speed;                                    // subject against reference, on the device
  Ratio end_to_end;                               // the same for a caller that waits
};

// Where along a series something begins. Both sides are sizes that were measured.
struct Boundary {
  enum class State {
    kNoData,   // nothing to tell from
    kFound,    // between `below` and `above`
    kAlways,   // from the smallest size on
    kNever,    // not up to the largest size
    kUnclear,  // it comes and goes, or an interval reaches over the border
  };
  State state = State::kNoData;
  double below = 0;
  double above = 0;
};

struct SeriesRegimes {
  const Series* series = nullptr;
  Role subject = Role::kOther;    // the abstraction that is asked about: Triton where it ran
  Role reference = Role::kOther;  // what it is held against: CUDA where it ran
  std::vector<SizeRegime> sizes;
  Boundary launch_end;  // no longer bound by the launch from `above` on
  Boundary large;       // of the memory-bound sizes: not behind from `above` on
  Boundary compute;     // compute-bound from `above` on
  // For each role that ran: where its own rows stop being bound by their launch.
  std::vector<std::pair<Role, Boundary>> launch_ends;
};

std::vector<SeriesRegimes> RegimesOf(const std::vector<Series>& series);

// "between n=1Mi and n=4Mi", "from the smallest size, n=64Ki, on", "not up to n=1Gi".
std::string BoundaryText(const Series& series, const Boundary& boundary);

}  // namespace kbench::client
