#include "server/rpc/queue_snapshot.h"

#include <algorithm>
#include <cmath>

#include "proto/support/clock.h"
#include "server/rpc/convert.h"
#include "server/rpc/maintenance.h"
#include "server/rpc/queue_words.h"

namespace kbench::server {
namespace {

using kbench::v1::Device;
using kbench::v1::DeviceQueue;
using kbench::v1::QueuedJob;
using kbench::v1::QueueSnapshot;
using kbench::v1::RunningJob;

google::protobuf::Timestamp Stamp(double seconds) {
  return ToTimestamp(std::llround(seconds * 1e6));
}

void FillRunning(const scheduler::CaseRef& ref, const QueueSources& sources, double now,
                 RunningJob* running) {
  const JobFacts job = sources.job(ref.job);
  if (job.entry == nullptr) return;
  const scheduler::Case& item = job.entry->cases[static_cast<std::size_t>(ref.index)];
  const RunningProgress* progress = sources.progress(ref);
  running->set_job(ref.job);
  running->set_owner(job.entry->owner);
  running->set_priority_class(scheduler::ClassName(job.entry->priority_class));
  running->set_case_index(ref.index);
  running->set_cases(static_cast<int>(job.entry->cases.size()));
  running->set_text(CaseText(*job.spec, ref.index));
  running->set_hold(job.spec->has_hold());
  if (progress != nullptr) *running->mutable_progress() = progress->newest;
  if (item.started_at > 0) *running->mutable_start_time() = Stamp(item.started_at);
  const scheduler::Window yields = YieldOf(item, *job.spec, progress, now);
  if (yields.known) SetRange(yields, running->mutable_yields());
}

double Together(const google::protobuf::RepeatedPtrField<kbench::v1::ForeignProcess>& foreign) {
  double total = 0;
  for (const auto& process : foreign) {
    if (process.utilization() < 0) return -1;
    total += process.utilization();
  }
  return std::min(1.0, total);
}

void FillDevice(const Device& device, const scheduler::DeviceView* view,
                const QueueSources& sources, double now, DeviceQueue* out) {
  out->set_device(device.name());
  out->set_state(ShownState(device, view != nullptr && view->running.has_value()));
  out->set_state_message(out->state() == device.state() ? device.state_message()
                                                        : device.maintenance().reason());
  out->set_model(device.model());
  *out->mutable_foreign() = device.foreign();
  out->set_utilization(Together(device.foreign()));
  if (view == nullptr) return;
  out->set_waiting_jobs(view->waiting_jobs);
  if (view->running) FillRunning(*view->running, sources, now, out->mutable_running());
}

void FillWaiting(const scheduler::WaitingJob& waiting, const JobFacts& job, QueuedJob* out) {
  out->set_job(waiting.job);
  out->set_owner(job.entry->owner);
  out->set_priority_class(scheduler::ClassName(job.entry->priority_class));
  out->set_text(CaseText(*job.spec, waiting.next_case));
  out->set_waiting_cases(waiting.waiting_cases);
  out->set_position(waiting.position);
  out->set_device(job.entry->device);
  if (waiting.start.known) SetRange(waiting.start, out->mutable_start_estimate());
  out->set_estimated_seconds(waiting.estimated_seconds);
  out->set_reason(waiting.reason);
  out->set_message(WaitMessage(waiting.reason));
  *out->mutable_create_time() = Stamp(job.entry->submitted_at);
  out->set_hold(job.spec->has_hold());
}

}  // namespace

void SetRange(const scheduler::Window& window, kbench::v1::TimeRange* range) {
  *range->mutable_earliest() = Stamp(std::floor(window.earliest));
  *range->mutable_latest() = Stamp(std::ceil(window.latest));
}

QueueSnapshot MakeQueueSnapshot(const scheduler::QueueView& view, const QueueSources& sources,
                                const scheduler::ViewFilter& filter, int most, double now) {
  QueueSnapshot snapshot;
  *snapshot.mutable_time() = Stamp(now);
  for (const Device* device : sources.devices->All()) {
    if (!filter.devices.empty() && filter.devices.count(device->name()) == 0) continue;
    const scheduler::DeviceView* seen = nullptr;
    for (const scheduler::DeviceView& one : view.devices) {
      if (one.device == device->name() && (seen == nullptr || one.running)) seen = &one;
    }
    FillDevice(*device, seen, sources, now, snapshot.add_devices());
  }
  for (const scheduler::WaitingJob& waiting : view.waiting) {
    if (snapshot.waiting_size() >= most) break;
    const JobFacts job = sources.job(waiting.job);
    if (job.entry == nullptr) continue;
    FillWaiting(waiting, job, snapshot.add_waiting());
  }
  snapshot.set_waiting_jobs(view.waiting_jobs);
  snapshot.set_waiting_cases(view.waiting_cases);
  for (const scheduler::OwnerView& owner : view.owners) {
    kbench::v1::OwnerShare* share = snapshot.add_owners();
    share->set_owner(owner.owner);
    share->set_used_seconds(owner.used_seconds);
    share->set_running_cases(owner.running_cases);
    share->set_waiting_cases(owner.waiting_cases);
  }
  return snapshot;
}

}  // namespace kbench::server
