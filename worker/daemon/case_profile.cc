// One launch of each cell under Nsight Compute, apart from the timed rounds, for whoever asks.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "fmt/format.h"
#include "proto/support/ids.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/case_driver.h"
#include "worker/profile/ncu.h"

namespace kbench {
namespace {

constexpr double kLeastSeconds = 3;
constexpr double kMostSeconds = 120;

// The program as the pool starts it, but free: its parent will be the profiler.
std::vector<std::string> WithoutParent(const RunnerSpec& spec) {
  std::vector<std::string> command = {spec.program};
  for (std::size_t i = 0; i < spec.args.size(); ++i) {
    if (spec.args[i] == "--parent") {
      ++i;
    } else {
      command.push_back(spec.args[i]);
    }
  }
  return command;
}

}  // namespace

void CaseDriver::ProfileCells() {
  if (!policy_.profile()) return;
  std::string why;
  if (context_.facts->device.kind() != "cuda") {
    why = "no profile: it needs a GPU and Nsight Compute";
  } else if (context_.ncu.empty()) {
    why =
        "no profile: it needs Nsight Compute, and ncu is neither on the worker's PATH nor in "
        "/usr/local/cuda/bin or /opt/nvidia/nsight-compute";
  }
  const PhaseScope phase(this, "profile");
  int left = 0;
  for (const auto& cell : cells_) {
    if (cell->state != Cell::State::kMeasured) continue;
    ++left;
    cell->profile.set_message(why);
    // Two of them may not fit into the memory.
    if (why.empty()) ReleaseRunner(*cell);
  }
  if (!why.empty()) return;
  for (const auto& cell : cells_) {
    if (cell->state != Cell::State::kMeasured) continue;
    if (Stopped()) return;
    const double seconds = std::min(kMostSeconds, LeftAfterRounds() / left--);
    if (seconds < kLeastSeconds) {
      cell->profile.set_message(fmt::format(
          "no profile: of the case's {:.0f} s there was no time left; give it a larger --budget",
          end_ - start_));
      continue;
    }
    Say("profile", cell->name);
    ProfileCell(*cell, seconds);
  }
}

void CaseDriver::ProfileCell(Cell& cell, double seconds) {
  const RunnerSpec* spec = context_.pool->SpecOf(assign_.case_().kernel(), cell.name);
  if (spec == nullptr) return;
  profile::Look look;
  look.ncu = context_.ncu;
  look.runner = WithoutParent(*spec);
  look.env = spec->env;
  look.prepare = PrepareRequest(cell, 0);
  // Nothing is estimated anew, and what was timed is what is looked at.
  look.prepare.mutable_prepare()->set_launch_limit_seconds(0);
  look.prepare.mutable_prepare()->set_candidate(cell.prepared.candidate());
  look.architecture = context_.facts->device.architecture();
  look.cold = assign_.case_().mode() == "cold" && policy_.flush() != "none";
  look.folder = reference_dir_ + "/profile-" + RandomId(8);
  look.seconds = seconds;
  std::error_code error;
  std::filesystem::create_directories(look.folder, error);
  profile::Seen seen = profile::LookAtLaunch(look, [this] { return Stopped(); });
  cell.profile = std::move(seen.profile);
  cell.profile_table = std::move(seen.table);
  last_launch_ = Elapsed();
  if (!cell.profile.message().empty()) spdlog::info("{}: {}", cell.name, cell.profile.message());
}

}  // namespace kbench
