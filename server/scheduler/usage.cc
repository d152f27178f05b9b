#include "server/scheduler/usage.h"

#include <algorithm>
#include <cmath>

namespace kbench::scheduler {
namespace {

constexpr double kMostHalfLives = 200;  // between rebasings; a double has room for 1000
constexpr double kNegligibleSeconds = 0.01;

}  // namespace

Owner& Usage::Of(const std::string& name) {
  const auto [found, inserted] = owners_.try_emplace(name);
  if (inserted) {
    found->second.name = name;
    found->second.serial = next_serial_++;
  }
  return found->second;
}

double Usage::Weight(double at) const {
  return std::exp2(std::clamp((at - base_) / half_life_, -900.0, 900.0));
}

double Usage::Scale(double now) const { return 1 / Weight(std::max(now, latest_)); }

void Usage::Restore(double now, const OwnerUsage& stored) {
  Rebase(now);
  Owner& owner = Of(stored.owner);
  // Written by a clock that was ahead: nothing has decayed since then.
  owner.served_at = std::min(stored.as_of, now);
  owner.settled += std::max(0.0, stored.seconds) * Weight(owner.served_at);
}

void Usage::Charge(double began, Owner& owner, double estimate) {
  owner.charged += std::max(0.0, estimate) * Weight(began);
  ++owner.running_cases;
}

void Usage::Settle(double began, Owner& owner, double estimate, double took) {
  --owner.running_cases;
  // With nothing running the sum is exactly nothing, whatever the rounding.
  const double left = owner.charged - std::max(0.0, estimate) * Weight(began);
  owner.charged = owner.running_cases == 0 ? 0 : std::max(0.0, left);
  Add(began, owner, took);
}

void Usage::Add(double began, Owner& owner, double took) {
  owner.settled += std::max(0.0, took) * Weight(began);
}

double Usage::Seconds(double now, const Owner& owner) const {
  return owner.weighted() * Scale(now);
}

OwnerUsage Usage::Durable(double now, const Owner& owner) const {
  const double at = std::max(now, latest_);
  return {owner.name, owner.settled * Scale(at), at};
}

bool Usage::Rebase(double now) {
  latest_ = std::max(latest_, now);
  if (base_ == 0) base_ = latest_;
  if (latest_ - base_ < kMostHalfLives * half_life_) return false;
  const double scale = Scale(latest_);
  for (auto& [name, owner] : owners_) {
    owner.settled *= scale;
    owner.charged *= scale;
  }
  base_ = latest_;
  return true;
}

std::vector<std::string> Usage::Prune(double now) {
  std::vector<std::string> gone;
  for (auto it = owners_.begin(); it != owners_.end();) {
    const bool idle = it->second.jobs == 0 && it->second.lanes.empty();
    if (idle && Seconds(now, it->second) < kNegligibleSeconds) {
      gone.push_back(it->first);
      it = owners_.erase(it);
    } else {
      ++it;
    }
  }
  return gone;
}

}  // namespace kbench::scheduler
