// The essay's figures from one NVIDIA L4, and what fresh results say to them. Pure; thread-safe.
//
// A figure of another card is not expected again: what can be reproduced is a claim, the ratio of
// two implementations. The rules stand in client/README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/report/evidence.h"
#include "client/report/ratio.h"
#include "client/report/regimes.h"

namespace kbench::client {

inline constexpr char kEssayDevice[] = "NVIDIA L4";
inline constexpr double kEssayBandwidth = 300e9;  // byte/s, as the essay gives it

// Who the essay measured.
enum class Who { kCuda, kTorch, kCublas, kCudnn, kTriton };
std::string WhoName(Who who);
// The row of it that counts; nullptr where it was not measured.
const kbench::v1::Result* RowOf(const MeasuredCase& one, Who who);

enum class Judgement {
  kReproduced,
  kDirection,
  kPartly,  // of several sizes: at some of them
  kNotReproduced,
  kUndecided,
  kNotMeasured,
};
// "reproduced", "direction only", "at some sizes", "not reproduced", "undecided", "not measured".
std::string JudgementName(Judgement judgement);

// What the essay says of a speed: between `low` and `high` times that of the other one.
struct Claim {
  double low = 0;
  double high = 0;
};
// Of one figure: within kFactor of it, and on its side of a tie.
inline constexpr double kFactor = 1.25;
Claim ClaimOf(double speed);
// Reproduced: the whole interval within the claim. Direction only: the whole interval on the
// claim's side of a tie. Not reproduced: the whole interval on another side. Undecided otherwise,
// and without an interval.
Judgement Judge(const Claim& claim, const Ratio& speed);

// One figure of the essay beside ours.
struct EssayFigure {
  std::string kernel;
  std::string dtype;
  std::string size;  // as a person reads it: "2^26", "4096"
  Who who = Who::kCuda;
  bool flops = false;                       // FLOP/s, else byte/s
  double essay = 0;                         // the essay's value in that unit
  const kbench::v1::Result* row = nullptr;  // null: not measured
  double here = 0;
  // On the essay's own card alone: whether it comes within kFigureMargin.
  std::optional<bool> reproduced = {};
};
inline constexpr double kFigureMargin = 0.1;
std::vector<EssayFigure> FiguresOf(const Evidence& evidence);

// One ratio of the essay beside ours.
struct EssayRatio {
  std::string kernel;
  std::string what;  // "Triton tf32 against cuBLAS tf32"
  double essay = 0;
  std::string own;    // implementations that were measured, "triton" and "cublas"
  std::string other;  // both empty where one is missing
  Ratio here;
  Judgement judgement = Judgement::kNotMeasured;
};
std::vector<EssayRatio> RatiosOf(const Evidence& evidence);

// One of the essay's four regimes, in one series.
struct RegimeClaim {
  int number = 0;                         // 1 to 4, in the essay's order
  std::string name;                       // "small sizes"
  std::string claim;                      // "Triton 3-12x slower, end to end"
  const SeriesRegimes* series = nullptr;  // null: no series has such a size
  std::string sizes;                      // "n=64Ki to n=1Mi"
  Ratio least;                            // the lowest and the highest speed of these sizes
  Ratio most;
  Judgement judgement = Judgement::kNotMeasured;
};
// Triton against CUDA (compute-bound: against cuBLAS), where both were measured. Of the
// memory-bound sizes those from the boundary on are large; where there is none, the largest is.
// Small ones are bound by the launch of CUDA too, and go by end-to-end times.
std::vector<RegimeClaim> RegimeClaimsOf(const std::vector<SeriesRegimes>& regimes);

}  // namespace kbench::client
