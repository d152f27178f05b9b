#include "client/report/essay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/suites/suite_plan.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

struct Cell {
  const char* kernel;
  const char* dtype;
  const char* size;
  Who who;
  bool flops;
  double value;
};

// The size of sum is the large one of the essay's two; the other cells have one size.
constexpr Cell kCells[] = {
    {"sum", "fp32", "2^26", Who::kCuda, false, 258e9},
    {"sum", "fp32", "2^26", Who::kTorch, false, 254e9},
    {"sum", "fp32", "2^26", Who::kTriton, false, 245e9},
    {"softmax", "fp32", "4096x4096", Who::kCuda, false, 237e9},
    {"softmax", "fp32", "4096x4096", Who::kTorch, false, 240e9},
    {"softmax", "fp32", "4096x4096", Who::kTriton, false, 221e9},
    {"matmul", "tf32", "4096", Who::kCuda, true, 3.9e12},
    {"matmul", "tf32", "4096", Who::kCublas, true, 25.8e12},
    {"matmul", "tf32", "4096", Who::kTriton, true, 28.9e12},
    {"matmul", "fp16", "4096", Who::kCuda, true, 18.5e12},
    {"matmul", "fp16", "4096", Who::kCublas, true, 51.8e12},
    {"matmul", "fp16", "4096", Who::kTriton, true, 54.0e12},
};

// The essay names neither batch nor heads nor their size; these are ours.
constexpr char kAttentionSize[] = "b=1,h=16,s=8192,d=64";

struct Pair {
  const char* kernel;
  const char* size;
  Who own;
  const char* own_dtype;
  Who other;
  const char* other_dtype;
  double speed;  // 0: of the two figures above
};

constexpr Pair kPairs[] = {
    {"sum", "2^26", Who::kTorch, "fp32", Who::kCuda, "fp32", 0},
    {"sum", "2^26", Who::kTriton, "fp32", Who::kCuda, "fp32", 0},
    {"sum", "2^26", Who::kTriton, "fp32", Who::kTorch, "fp32", 0},
    {"softmax", "4096x4096", Who::kTorch, "fp32", Who::kCuda, "fp32", 0},
    {"softmax", "4096x4096", Who::kTriton, "fp32", Who::kCuda, "fp32", 0},
    {"softmax", "4096x4096", Who::kTriton, "fp32", Who::kTorch, "fp32", 0},
    {"matmul", "4096", Who::kCublas, "tf32", Who::kCuda, "tf32", 0},
    {"matmul", "4096", Who::kTriton, "tf32", Who::kCuda, "tf32", 0},
    {"matmul", "4096", Who::kTriton, "tf32", Who::kCublas, "tf32", 0},
    {"matmul", "4096", Who::kCublas, "fp16", Who::kCuda, "fp16", 0},
    {"matmul", "4096", Who::kTriton, "fp16", Who::kCuda, "fp16", 0},
    {"matmul", "4096", Who::kTriton, "fp16", Who::kCublas, "fp16", 0},
    {"attention", kAttentionSize, Who::kTriton, "fp16", Who::kCuda, "fp32", 6.14},
    {"attention", kAttentionSize, Who::kTriton, "fp32", Who::kTorch, "fp32", 2.35},
    {"attention", kAttentionSize, Who::kTriton, "fp16", Who::kCudnn, "fp16", 0.79},
};

const MeasuredCase* Find(const Evidence& evidence, const std::string& kernel,
                         const std::string& dtype, const std::string& size) {
  kbench::v1::CaseSpec spec;
  spec.set_kernel(kernel);
  spec.set_dtype(dtype);
  spec.set_size(size);
  return evidence.Find(kernel, dtype, ShapeOf(spec));
}

const Result* RowOf(const Evidence& evidence, const std::string& kernel, const std::string& dtype,
                    const std::string& size, Who who) {
  const MeasuredCase* one = Find(evidence, kernel, dtype, size);
  return one == nullptr ? nullptr : RowOf(*one, who);
}

double FigureOf(const Pair& pair, Who who, const char* dtype) {
  for (const Cell& cell : kCells) {
    if (std::string(cell.kernel) == pair.kernel && std::string(cell.dtype) == dtype &&
        cell.who == who) {
      return cell.value;
    }
  }
  return 0;
}

double EssaySpeed(const Pair& pair) {
  if (pair.speed > 0) return pair.speed;
  return FigureOf(pair, pair.own, pair.own_dtype) / FigureOf(pair, pair.other, pair.other_dtype);
}

// The essay's four.
struct Four {
  int number;
  const char* name;
  const char* claim;
  Regime regime;
  Claim speed;
};

Claim TieOnly() { return {1 / (1 + kTieMargin), 1 + kTieMargin}; }

std::vector<Four> TheFour() {
  return {
      {1, "small sizes", "Triton 3-12x slower", Regime::kLaunch, {1.0 / 12, 1.0 / 3}},
      {2, "memory-bound, medium", "Triton at 95% of CUDA", Regime::kMemory, ClaimOf(0.95)},
      {3, "memory-bound, large", "Triton ties with CUDA", Regime::kMemory, TieOnly()},
      {4, "compute-bound, large", "Triton 4-12% ahead of cuBLAS", Regime::kCompute, {1.04, 1.12}},
  };
}

// The memory-bound size from which on they count as large: behind the boundary; where the data hold
// none, the largest.
double LargeFrom(const SeriesRegimes& series) {
  if (series.large.state == Boundary::State::kFound) return series.large.above;
  double largest = 0;
  for (const SizeRegime& size : series.sizes) {
    if (size.regime == Regime::kMemory && size.speed.known()) largest = size.extent;
  }
  return largest;
}

// Unknown where the size is none of this regime, or a row is missing.
Ratio SpeedIn(const Four& four, const SeriesRegimes& series, std::size_t i) {
  const SizeRegime& size = series.sizes[i];
  if (size.regime != four.regime || size.subject == nullptr) return {};
  if (four.number == 1) {
    // Small for CUDA too: later it is Triton's launch beside CUDA's work.
    const bool small = size.reference != nullptr && IsLaunchBound(*size.reference);
    return small ? size.end_to_end : Ratio();
  }
  if (four.number == 4) {
    const Result* cublas = RowOf(*series.series->points[i].of, Who::kCublas);
    return cublas == nullptr ? Ratio() : SpeedOf(*size.subject, *cublas);
  }
  const bool large = size.extent >= LargeFrom(series);
  return large == (four.number == 3) ? size.speed : Ratio();
}

// Of several sizes.
Judgement Together(const std::vector<Judgement>& each) {
  const auto count = [&](Judgement is) { return std::count(each.begin(), each.end(), is); };
  const auto all = static_cast<std::ptrdiff_t>(each.size());
  for (const Judgement one : each) {
    if (count(one) == all) return one;
  }
  const auto agree = count(Judgement::kReproduced) + count(Judgement::kDirection);
  if (agree == all) return Judgement::kDirection;
  return agree > 0 ? Judgement::kPartly : Judgement::kUndecided;
}

RegimeClaim ClaimIn(const Four& four, const SeriesRegimes& series) {
  RegimeClaim found;
  found.number = four.number;
  found.name = four.name;
  found.claim = four.claim;
  std::vector<Judgement> each;
  double first = 0;
  double last = 0;
  for (std::size_t i = 0; i < series.sizes.size(); ++i) {
    const Ratio speed = SpeedIn(four, series, i);
    if (!speed.known()) continue;
    each.push_back(Judge(four.speed, speed));
    last = series.sizes[i].extent;
    if (first == 0) first = last;
    if (!found.least.known() || speed.value < found.least.value) found.least = speed;
    if (!found.most.known() || speed.value > found.most.value) found.most = speed;
  }
  if (each.empty()) return found;
  found.series = &series;
  found.sizes = SizeText(*series.series, first);
  if (last != first) found.sizes += " to " + SizeText(*series.series, last);
  found.judgement = Together(each);
  return found;
}

}  // namespace

std::string WhoName(Who who) {
  switch (who) {
    case Who::kCuda:
      return "CUDA";
    case Who::kTorch:
      return "torch";
    case Who::kCublas:
      return "cuBLAS";
    case Who::kCudnn:
      return "cuDNN";
    case Who::kTriton:
      break;
  }
  return "Triton";
}

const Result* RowOf(const MeasuredCase& one, Who who) {
  switch (who) {
    case Who::kCuda:
      return one.BestOfFamily("cuda");
    case Who::kTorch:
      return one.Best(Role::kTorch);
    case Who::kCublas:
      return one.BestOfFamily("cublas");
    case Who::kCudnn:
      return one.BestOfFamily("cudnn");
    case Who::kTriton:
      break;
  }
  return one.Best(Role::kTriton);
}

std::string JudgementName(Judgement judgement) {
  switch (judgement) {
    case Judgement::kReproduced:
      return "reproduced";
    case Judgement::kDirection:
      return "direction only";
    case Judgement::kNotReproduced:
      return "not reproduced";
    case Judgement::kPartly:
      return "at some sizes";
    case Judgement::kUndecided:
      return "undecided";
    case Judgement::kNotMeasured:
      break;
  }
  return "not measured";
}

Claim ClaimOf(double speed) {
  Claim claim{speed / kFactor, speed * kFactor};
  switch (SideOf(speed)) {
    case Side::kBehind:
      claim.high = std::min(claim.high, 1 / (1 + kTieMargin));
      break;
    case Side::kAhead:
      claim.low = std::max(claim.low, 1 + kTieMargin);
      break;
    default:
      claim = TieOnly();
  }
  return claim;
}

Judgement Judge(const Claim& claim, const Ratio& speed) {
  if (!speed.known()) return Judgement::kNotMeasured;
  if (!speed.sure()) return Judgement::kUndecided;
  if (speed.low >= claim.low && speed.high <= claim.high) return Judgement::kReproduced;
  const Side side = SideOf(speed);
  if (side == Side::kUnknown) return Judgement::kUndecided;
  return side == SideOf(std::sqrt(claim.low * claim.high)) ? Judgement::kDirection
                                                           : Judgement::kNotReproduced;
}

std::vector<EssayFigure> FiguresOf(const Evidence& evidence) {
  const bool same_card = evidence.environment.device_name() == kEssayDevice;
  std::vector<EssayFigure> figures;
  for (const Cell& cell : kCells) {
    EssayFigure figure{cell.kernel, cell.dtype, cell.size, cell.who, cell.flops, cell.value};
    figure.row = RowOf(evidence, cell.kernel, cell.dtype, cell.size, cell.who);
    if (figure.row != nullptr) {
      const auto& throughput = figure.row->throughput();
      figure.here = cell.flops ? throughput.flops_per_second() : throughput.bytes_per_second();
    }
    if (same_card && figure.here > 0) {
      figure.reproduced = std::abs(figure.here / figure.essay - 1) <= kFigureMargin;
    }
    figures.push_back(figure);
  }
  return figures;
}

std::vector<EssayRatio> RatiosOf(const Evidence& evidence) {
  std::vector<EssayRatio> ratios;
  for (const Pair& pair : kPairs) {
    EssayRatio ratio;
    ratio.kernel = pair.kernel;
    ratio.what = fmt::format("{} {} against {} {}", WhoName(pair.own), pair.own_dtype,
                             WhoName(pair.other), pair.other_dtype);
    ratio.essay = EssaySpeed(pair);
    const Result* own = RowOf(evidence, pair.kernel, pair.own_dtype, pair.size, pair.own);
    const Result* other = RowOf(evidence, pair.kernel, pair.other_dtype, pair.size, pair.other);
    if (own != nullptr && other != nullptr) {
      ratio.own = own->implementation();
      ratio.other = other->implementation();
      ratio.here = SpeedOf(*own, *other);
      ratio.judgement = Judge(ClaimOf(ratio.essay), ratio.here);
    }
    ratios.push_back(ratio);
  }
  return ratios;
}

std::vector<RegimeClaim> RegimeClaimsOf(const std::vector<SeriesRegimes>& regimes) {
  std::vector<RegimeClaim> claims;
  for (const Four& four : TheFour()) {
    const std::size_t before = claims.size();
    for (const SeriesRegimes& series : regimes) {
      if (series.subject != Role::kTriton) continue;
      if (four.number != 4 && series.reference != Role::kHand) continue;
      RegimeClaim claim = ClaimIn(four, series);
      if (claim.series != nullptr) claims.push_back(std::move(claim));
    }
    if (claims.size() > before) continue;
    RegimeClaim none;
    none.number = four.number;
    none.name = four.name;
    none.claim = four.claim;
    claims.push_back(none);
  }
  return claims;
}

}  // namespace kbench::client
