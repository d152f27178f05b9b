// Results of one run for several cases: single-flight and reuse. What may be reused is decided in
// server/history/reuse.h, who waits for it is kept in sharing.h.
#include <algorithm>

#include "server/history/reuse.h"
#include "server/rpc/convert.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/selection.h"
#include "spdlog/spdlog.h"

namespace kbench::server {

using kbench::v1::AttemptResult;
using kbench::v1::Device;
using kbench::v1::Job;
using kbench::v1::JobSpec;

namespace {

// Of one cell, newest first, are looked at.
constexpr int kMostLooks = 8;

Selection SelectFor(const JobSpec& spec, int index, const Device& device) {
  return SelectImplementations({spec.implementations().begin(), spec.implementations().end()},
                               device, spec.cases(index),
                               {spec.environments().begin(), spec.environments().end()});
}

int Answered(const std::vector<store::Measured>& found) {
  return static_cast<int>(std::count_if(found.begin(), found.end(),
                                        [](const auto& item) { return !item.results.empty(); }));
}

}  // namespace

void Coordinator::TakeUp(const std::vector<scheduler::JobEntry>& jobs,
                         const std::vector<store::Deaths>& deaths) {
  sharing_.Clear();
  limits_.Reset();
  poison_.Clear();
  for (const scheduler::JobEntry& job : jobs) {
    const ActiveJob& active = active_.at(job.name);
    sharing_.Add(job, *active.spec);
    const auto open =
        std::count_if(job.cases.begin(), job.cases.end(),
                      [](const scheduler::Case& item) { return !scheduler::IsFinal(item.state); });
    limits_.JobBegan(active.owner, static_cast<int>(open));
  }
  for (const store::Deaths& item : deaths) {
    if (item.poison) poison_.Remember(item.ref, item.spec, item.at);
  }
}

std::vector<store::Measured> Coordinator::FindReusableOn(const Job& job, const Device& device,
                                                         const std::string& version) {
  const JobSpec& spec = job.spec();
  std::vector<store::Measured> found(static_cast<std::size_t>(spec.cases_size()));
  for (int i = 0; i < spec.cases_size(); ++i) {
    const kbench::v1::CaseSpec& item = spec.cases(i);
    const Selection selection = SelectFor(spec, i, device);
    if (selection.implementations.empty()) continue;
    auto measured = store_.FindMeasured({.kernel = item.kernel(),
                                         .dtype = item.dtype(),
                                         .shape = item.shape(),
                                         .mode = item.mode(),
                                         .implementation = selection.implementations.front(),
                                         .device = device.name(),
                                         .since = Now() - MostResultAge(spec),
                                         .most = kMostLooks});
    if (!measured.ok()) {
      spdlog::warn("earlier results cannot be read: {}", std::string(measured.status().message()));
      return {};
    }
    const history::ReuseRequest request{selection.implementations, spec.policy(), &device, version};
    for (store::Measured& candidate : *measured) {
      if (!history::WhyNotReusable(candidate.results, request).empty()) continue;
      found[static_cast<std::size_t>(i)] = std::move(candidate);
      break;
    }
  }
  return found;
}

std::vector<store::Measured> Coordinator::FindReusable(const Job& job) {
  if (MostResultAge(job.spec()) == 0) return {};
  std::vector<std::pair<Device, std::string>> devices;  // with its worker's version
  {
    MutexLock lock(mutex_);
    for (const auto& [link, session] : sessions_) {
      const Device* device = devices_.OfWorker(session.worker_id);
      if (device == nullptr || !scheduler_.SelectsWorker(job.spec().device(), session.worker_id)) {
        continue;
      }
      devices.emplace_back(*device, session.version);
    }
  }
  // The cases of one job compare only on one device: that which answers most of them.
  std::vector<store::Measured> best;
  for (const auto& [device, version] : devices) {
    std::vector<store::Measured> found = FindReusableOn(job, device, version);
    if (Answered(found) > Answered(best)) best = std::move(found);
  }
  return best;
}

bool Coordinator::Answers(const Session& session, const AttemptResult& result, const JobSpec& spec,
                          int index) {
  const JobSpec& leader = *active_.at(result.id().job()).spec;
  const int leader_case = result.id().case_index();
  const Device* device = devices_.OfWorker(session.worker_id);
  if (device == nullptr || !history::SameContent(spec.cases(index), spec.policy(),
                                                 leader.cases(leader_case), leader.policy())) {
    return false;
  }
  const Selection wanted = SelectFor(spec, index, *device);
  if (spec.share_in_flight()) {
    const Selection ran = SelectFor(leader, leader_case, *device);
    return wanted.implementations == ran.implementations && wanted.baseline == ran.baseline &&
           wanted.lower == ran.lower;
  }
  std::vector<kbench::v1::Result> results(result.results().begin(), result.results().end());
  for (kbench::v1::Result& row : results) {
    row.set_device(device->name());
    *row.mutable_policy() = leader.policy();
  }
  return history::WhyNotReusable(results,
                                 {wanted.implementations, spec.policy(), device, session.version})
      .empty();
}

std::vector<scheduler::CaseRef> Coordinator::Sharers(const Session& session,
                                                     const AttemptResult& result) {
  std::vector<scheduler::CaseRef> sharers;
  const auto leader = active_.find(result.id().job());
  const int index = result.id().case_index();
  if (leader == active_.end() || !scheduler_.IsOpen(session.worker_id, ToHeld(result.id(), true))) {
    return sharers;
  }
  const JobSpec& spec = *leader->second.spec;
  for (const scheduler::CaseRef& ref : sharing_.Waiting(spec, result.id().job(), index)) {
    const auto sharer = active_.find(ref.job);
    if (sharer == active_.end() || !scheduler_.WaitsFor(ref, session.worker_id)) continue;
    if (Answers(session, result, *sharer->second.spec, ref.index)) sharers.push_back(ref);
  }
  return sharers;
}

}  // namespace kbench::server
