#include "server/rpc/contests.h"

namespace kbench::server {

bool Contests::Displaced(double now, const std::string& worker_id) {
  Contest& contest = contests_[worker_id];
  contest.displacements.push_back(now);
  while (contest.displacements.front() < now - kWindowSeconds) contest.displacements.pop_front();
  if (static_cast<int>(contest.displacements.size()) < kMostDisplacements) return false;
  contest.displacements.clear();
  contest.refused_until = now + kWindowSeconds;
  return true;
}

double Contests::RefusedFor(double now, const std::string& worker_id) {
  // Also what was displaced once or twice, long ago, is forgotten here.
  std::erase_if(contests_, [&](const auto& entry) {
    const Contest& contest = entry.second;
    return contest.refused_until <= now &&
           (contest.displacements.empty() || contest.displacements.back() < now - kWindowSeconds);
  });
  const auto found = contests_.find(worker_id);
  if (found == contests_.end()) return 0;
  const double left = found->second.refused_until - now;
  return left > 0 ? left : 0;
}

}  // namespace kbench::server
