// Its life: start, timer, recovery, end.
#include "server/rpc/coordinator.h"

#include <chrono>
#include <future>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "server/rpc/convert.h"
#include "server/rpc/selection.h"
#include "spdlog/spdlog.h"

namespace kbench::server {
namespace {

constexpr double kRecoverySeconds = 2;
constexpr int kMostResultSeries = 2100;  // what the metrics may hold, more or less
constexpr int kMostDrainSeconds = 2;

absl::Status Unavailable(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kUnavailable, message,
                   {.reason = reason, .retry_after_seconds = 1});
}

}  // namespace

Coordinator::Coordinator(store::Store& store, metrics::Metrics& metrics, Clock& clock,
                         CoordinatorOptions options)
    : store_(store),
      metrics_(metrics),
      clock_(clock),
      options_(std::move(options)),
      wall_offset_(static_cast<double>(clock.WallMicros()) * 1e-6 - clock.SteadySeconds()),
      queue_hub_(options_.queue_seconds, options_.queue_ping_seconds),
      scheduler_(options_.scheduler),
      limits_(options_.limits) {}

Coordinator::~Coordinator() { Stop(); }

double Coordinator::Now() const { return wall_offset_ + clock_.SteadySeconds(); }

void Coordinator::SetResultObserver(ResultObserver observer) {
  MutexLock lock(mutex_);
  result_observer_ = std::move(observer);
}

absl::Status Coordinator::Start() {
  started_at_ = Now();
  KB_RETURN_IF_ERROR(LoadDurations());
  KB_RETURN_IF_ERROR(Load());
  KB_ASSIGN_OR_RETURN(auto results, store_.LatestResults(kMostResultSeries));
  // Oldest first, so that the newest is the last to be evicted.
  for (auto it = results.rbegin(); it != results.rend(); ++it) metrics_.RestoreResult(*it);
  metrics_.SetLiveSource([this] { return Live(); });
  timer_ = std::thread([this] { TimerLoop(); });
  return absl::OkStatus();
}

absl::Status Coordinator::Load() {
  KB_ASSIGN_OR_RETURN(store::Restored restored, store_.Restore());
  KB_ASSIGN_OR_RETURN(const store::StoredDevices stored_devices, store_.ReadDevices());
  std::map<std::string, ActiveJob> active;
  for (std::size_t i = 0; i < restored.jobs.size(); ++i) {
    scheduler::JobEntry& entry = restored.jobs[i];
    kbench::v1::Job job;
    job.set_owner(entry.owner);
    *job.mutable_spec() = *restored.specs[i];
    FillFromJob(job, entry.submitted_at, entry);
    active[entry.name] = {std::move(restored.specs[i]), entry.submitted_at, entry.owner};
  }
  if (!restored.jobs.empty()) spdlog::info("{} unfinished jobs taken up", restored.jobs.size());
  KB_ASSIGN_OR_RETURN(const auto deaths, store_.DeathsSince(Now() - scheduler::kPoisonSeconds));
  MutexLock lock(mutex_);
  active_ = std::move(active);
  TakeUp(restored.jobs, deaths);
  hold_lapses_.clear();
  for (const scheduler::JobEntry& entry : restored.jobs) {
    if (entry.hold) HoldAssigned(entry.name);
  }
  next_order_ = restored.next_order;
  ResetScheduler();
  for (const store::Deaths& item : deaths) {
    const std::uint64_t content = PoisonKey(item.spec, item.ref.index);
    for (int i = 0; i < item.deaths; ++i) scheduler_.RememberDeath(item.at, content, item.ref);
  }
  broken_ = false;
  RestoreDevices(stored_devices);
  for (scheduler::JobEntry& entry : restored.jobs) FillEstimates(*active_[entry.name].spec, entry);
  CommitEffects(
      scheduler_.Restore(Now(), std::move(restored.jobs), restored.next_epoch, restored.usages));
  return absl::OkStatus();
}

void Coordinator::OnStoreFailure(const absl::Status& status, std::int64_t generation) {
  std::vector<std::shared_ptr<WorkerLink>> links;
  {
    MutexLock lock(mutex_);
    if (generation != generation_) return;
    spdlog::error("the store failed, waiting for it: {}", MessageOf(status));
    ++generation_;
    broken_ = true;
    for (const auto& [link, session] : sessions_) {
      links.push_back(link);
      devices_.WorkerLeft(session.worker_id);
    }
    sessions_.clear();
    // What memory says may not be on disk: it is void. Workers keep their attempts and their
    // results, and say so when they come back.
    ResetScheduler();
    active_.clear();
    progress_.clear();
  }
  for (const auto& link : links) {
    link->Close(Unavailable("the coordinator cannot write to its store; come back", "STORE_DOWN"));
  }
}

void Coordinator::TryRecover() {
  // An empty batch goes through the queue: whatever was enqueued before has been decided then.
  std::promise<absl::Status> promise;
  store_.Commit({}, [&](const absl::Status& status, const auto&) { promise.set_value(status); });
  absl::Status status = promise.get_future().get();
  if (status.ok()) status = Load();
  if (status.ok()) {
    spdlog::info("the store is back");
  } else {
    spdlog::warn("the store is still down: {}", MessageOf(status));
  }
}

void Coordinator::TimerLoop() {
  double last_recovery = 0;
  for (;;) {
    bool broken = false;
    {
      MutexLock lock(mutex_);
      if (!stop_) timer_wake_.WaitFor(mutex_, options_.timer_seconds);
      if (stop_) return;
      broken = broken_;
      if (!broken && !draining_) {
        CommitEffects(scheduler_.Tick(Now()));
        LookForSilence();
        LapseHolds();
      }
    }
    const double steady = clock_.SteadySeconds();
    if (broken && steady - last_recovery > kRecoverySeconds) {
      last_recovery = steady;
      TryRecover();
    }
    PublishPositions();
    hub_.Tick(steady);
    PublishQueue();
  }
}

void Coordinator::Drain() {
  std::vector<std::shared_ptr<WorkerLink>> links;
  {
    MutexLock lock(mutex_);
    draining_ = true;
    for (const auto& [link, session] : sessions_) links.push_back(link);
  }
  // What was decided before is on disk and sent then: a worker that hears of an assignment keeps
  // it, and holds it when it says hello to the next coordinator.
  const auto decided = std::make_shared<std::promise<void>>();
  store_.Commit({}, [decided](const absl::Status&, const auto&) { decided->set_value(); });
  decided->get_future().wait_for(std::chrono::seconds(kMostDrainSeconds));  // a disk may hang
  for (const auto& link : links) {
    link->Close(Unavailable("the coordinator is stopping; come back", "DRAINING"));
  }
  hub_.CloseAll(Unavailable("the coordinator is stopping; resume with after_sequence", "DRAINING"));
  queue_hub_.CloseAll(Unavailable("the coordinator is stopping; come back", "DRAINING"));
}

void Coordinator::Stop() {
  metrics_.SetLiveSource(nullptr);
  {
    MutexLock lock(mutex_);
    stop_ = true;
    draining_ = true;
  }
  timer_wake_.NotifyAll();
  if (timer_.joinable()) timer_.join();
  lookups_.Stop();
  // After this nothing of ours waits in the store's queue, and so nothing calls back.
  std::promise<void> drained;
  store_.Commit({}, [&](const absl::Status&, const auto&) { drained.set_value(); });
  drained.get_future().wait();
  executor_.Stop();
}

metrics::LiveState Coordinator::Live() {
  metrics::LiveState live;
  live.devices = Devices();
  live.watchers = hub_.size() + queue_hub_.size();
  MutexLock lock(mutex_);
  using scheduler::PriorityClass;
  for (const PriorityClass one :
       {PriorityClass::kInteractive, PriorityClass::kCi, PriorityClass::kBatch}) {
    live.waiting.emplace_back(scheduler::ClassName(one), scheduler_.backlog().Of(one));
  }
  live.running_jobs = scheduler_.RunningJobs();
  live.queued_jobs = scheduler_.Jobs() - live.running_jobs;
  live.running_cases = scheduler_.RunningCases();
  return live;
}

}  // namespace kbench::server
