#include "worker/profile/limiter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace kbench::profile {
namespace {

constexpr char kDuration[] = "gpu__time_duration.sum";
constexpr char kDram[] = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr char kDramBytes[] = "dram__bytes.sum";
constexpr char kL2[] = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr char kL1[] = "l1tex__throughput.avg.pct_of_peak_sustained_active";
constexpr char kSm[] = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr char kShared[] =
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed";
constexpr char kSharedWavefronts[] = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
constexpr char kConflicts[] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
constexpr char kTensor[] = "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active";
constexpr char kTensorInteger[] =
    "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active";
constexpr char kTensorDouble[] =
    "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_active";
constexpr char kDouble[] = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active";
constexpr char kIssue[] = "smsp__issue_active.avg.pct_of_peak_sustained_active";
constexpr char kWarps[] = "sm__warps_active.avg.pct_of_peak_sustained_active";
constexpr std::string_view kStallBegin = "smsp__average_warps_issue_stalled_";
constexpr std::string_view kStallEnd = "_per_issue_active.ratio";

// A unit this busy is what the kernel waits for: little more comes out of it in practice. The same
// bound that ncu's own rules use, less what a launch's ramps take away.
constexpr double kSaturatedPercent = 70;
// All that comes from memory passes the L2 cache too. Where memory is nearly as busy as the cache,
// memory is what the cache waits for.
constexpr double kMemoryBehindL2 = 0.9;
// More conflicts than this among the accesses of shared memory are worth a word.
constexpr double kConflictShare = 0.2;

struct Stall {
  const char* name;
  const char* words;  // what a warp waits for; null: it does not wait
};

constexpr Stall kStalls[] = {
    {"barrier", "other warps at a barrier"},
    {"branch_resolving", "a branch to be resolved"},
    {"dispatch_stall", "the dispatcher"},
    {"drain", "its last stores to leave"},
    {"gmma", "tensor-core products (wgmma) to end"},
    {"imc_miss", "constants that are not cached"},
    {"lg_throttle", "room in the queue of global-memory instructions"},
    {"long_scoreboard", "data from global memory"},
    {"math_pipe_throttle", "a busy arithmetic pipe"},
    {"membar", "a memory fence"},
    {"mio_throttle", "room in the queue of shared-memory instructions"},
    {"misc", "something that has no name"},
    {"no_instruction", "instructions to be fetched"},
    {"not_selected", nullptr},
    {"selected", nullptr},
    {"short_scoreboard", "data from shared memory or a special-function unit"},
    {"sleeping", "a sleep to end"},
    {"tex_throttle", "room in the queue of texture instructions"},
    {"wait", "the fixed latency of the instruction before"},
};

std::string StallMetric(std::string_view name) {
  return std::string(kStallBegin) + std::string(name) + std::string(kStallEnd);
}

struct Unit {
  const char* limiter;
  std::string words;
  double percent;
};

double ConflictShare(const KernelRow& row) {
  const double wavefronts = row.Value(kSharedWavefronts);
  return wavefronts > 0 ? row.Value(kConflicts) / wavefronts : 0;
}

// As NameLimiter weighs them: the first of equals counts.
std::vector<Unit> Units(const KernelRow& row) {
  return {{"dram", "device memory", row.Value(kDram)},
          {"l2", "the L2 cache", row.Value(kL2)},
          {"tensor", "the tensor cores",
           std::max({row.Value(kTensor), row.Value(kTensorInteger), row.Value(kTensorDouble)})},
          {"fp64", "the fp64 pipe", row.Value(kDouble)},
          {"shared-memory", "shared memory", row.Value(kShared)},
          {"issue", "instruction issue", row.Value(kIssue)},
          // The last, because the ones before are parts of it and name more.
          {"l1", "the L1 cache and its data path", row.Value(kL1)}};
}

// The longest wait of a warp, with its length and that of all waits in cycles of warps an
// instruction.
const Stall* TopStall(const KernelRow& row, double* top, double* all) {
  const Stall* longest = nullptr;
  *top = *all = 0;
  for (const Stall& stall : kStalls) {
    const double value = row.Value(StallMetric(stall.name));
    *all += value;
    if (stall.words == nullptr || value <= *top) continue;
    *top = value;
    longest = &stall;
  }
  return longest;
}

std::string StallWords(const KernelRow& row) {
  double top = 0;
  double all = 0;
  const Stall* stall = TopStall(row, &top, &all);
  if (stall == nullptr) return "";
  return fmt::format("warps wait most for {} ({}, {:.0f} % of their time)", stall->words,
                     stall->name, 100 * top / all);
}

std::string Bandwidth(const KernelRow& row) {
  const double seconds = row.Value(kDuration);
  const double bytes = row.Value(kDramBytes);
  if (!(seconds > 0) || !(bytes > 0)) return "";
  return fmt::format(", {:.0f} GB/s", bytes / seconds * 1e-9);
}

std::string ConflictWords(const KernelRow& row) {
  return fmt::format("{:.0f} % of its shared-memory wavefronts are bank conflicts",
                     100 * ConflictShare(row));
}

const Unit& Busiest(const std::vector<Unit>& units) {
  const auto busiest =
      std::max_element(units.begin(), units.end(),
                       [](const Unit& a, const Unit& b) { return a.percent < b.percent; });
  const Unit& dram = units.front();
  const bool passes =
      std::string_view(busiest->limiter) == "l2" &&
      dram.percent >= std::max(kSaturatedPercent, kMemoryBehindL2 * busiest->percent);
  return passes ? dram : *busiest;
}

Limiter Saturated(const KernelRow& row, const Unit& unit) {
  Limiter limiter{unit.limiter, ""};
  const bool conflicts = limiter.name == "shared-memory" && ConflictShare(row) >= kConflictShare;
  if (conflicts) limiter.name = "bank-conflicts";
  limiter.sentence = fmt::format("limited by {}{}: {:.0f} % of its peak{}", unit.words,
                                 conflicts ? " with bank conflicts" : "", unit.percent,
                                 limiter.name == "dram" ? Bandwidth(row) : "");
  return limiter;
}

Limiter Latency(const KernelRow& row, const Unit& busiest) {
  Limiter limiter{"latency", ""};
  limiter.sentence = fmt::format(
      "limited by latency: no unit is busy, the busiest, {}, is at "
      "{:.0f} % of its peak",
      busiest.words, busiest.percent);
  if (row.Value(kWarps) > 0) {
    limiter.sentence +=
        fmt::format(", with {:.0f} % of the warps a multiprocessor holds", row.Value(kWarps));
  }
  const std::string stall = StallWords(row);
  if (!stall.empty()) limiter.sentence += "; " + stall;
  return limiter;
}

}  // namespace

std::vector<std::string> MetricsFor(const std::string& architecture) {
  std::vector<std::string> metrics = {
      kDuration, kDram,   kDramBytes,        kL2,           kL1,
      kSm,       kShared, kSharedWavefronts, kConflicts,    kTensor,
      kIssue,    kWarps,  kTensorInteger,    kTensorDouble, kDouble};
  for (const Stall& stall : kStalls) {
    const bool hopper = std::string_view(stall.name) == "gmma";
    if (!hopper || architecture == "sm_90") metrics.push_back(StallMetric(stall.name));
  }
  return metrics;
}

Limiter NameLimiter(const KernelRow& row) {
  const std::vector<Unit> units = Units(row);
  const Unit& busiest = Busiest(units);
  if (!(busiest.percent > 0)) return {};
  const bool saturated = busiest.percent >= kSaturatedPercent;
  Limiter limiter = saturated ? Saturated(row, busiest) : Latency(row, busiest);
  if (ConflictShare(row) >= kConflictShare) limiter.sentence += "; " + ConflictWords(row);
  return limiter;
}

const KernelRow* Longest(const std::vector<KernelRow>& rows, double* share) {
  const KernelRow* longest = nullptr;
  double all = 0;
  for (const KernelRow& row : rows) {
    all += row.Value(kDuration);
    if (longest == nullptr || row.Value(kDuration) > longest->Value(kDuration)) longest = &row;
  }
  *share = all > 0 ? longest->Value(kDuration) / all : 1;
  return longest;
}

}  // namespace kbench::profile
