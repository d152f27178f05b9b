// What a step of the scheduler costs, by the length of the queue: the figures of server/README.md.
// Prints a table; holds the cost to what the longest queue may add.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

constexpr int kOwners = 20;
constexpr int kBatch = 50;    // steps in one reading of the clock
constexpr int kBatches = 41;  // the median of so many counts

double Microseconds(const std::function<void()>& step) {
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBatch; ++i) step();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count() / kBatch);
  }
  std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
  return times[kBatches / 2];
}

// A queue of one-case jobs of many owners in all classes, on four devices of which each is busy.
class LongQueue {
 public:
  explicit LongQueue(int waiting) : scheduler_(LongLeases()) {
    for (int i = 0; i < 4; ++i) {
      WorkerEntry worker;
      worker.worker_id = "w" + std::to_string(i);
      worker.boot_id = "boot1";
      worker.device = "gpu" + std::to_string(i);
      worker.device_kind = "cuda";
      worker.device_key = worker.device;
      worker.capabilities = {"matmul/fp16"};
      scheduler_.WorkerHello(now_, worker, {});
    }
    for (int i = 0; i < 4; ++i) Add("gpu" + std::to_string(i));  // these run
    for (int i = 0; i < waiting; ++i) Add(i % 3 == 0 ? "gpu" : "gpu" + std::to_string(i % 4));
    probe_ = Add("gpu", 0);
  }

  std::string Add(const std::string& device, int priority = 500) {
    const std::int64_t n = next_++;
    JobEntry job;
    job.name = "jobs/" + std::to_string(n);
    job.owner = "owner" + std::to_string(n % kOwners);
    job.priority_class = static_cast<PriorityClass>(n % 3);
    job.order = n;
    job.priority = priority;
    if (priority == 0) job.priority_class = PriorityClass::kBatch;  // the last of all
    job.device = device;
    job.submitted_at = now_;
    Case item;
    item.ref = {job.name, 0};
    item.need = "matmul/fp16";
    item.estimate = 1 + static_cast<double>(n * 7919 % 60);
    job.cases.push_back(item);
    now_ += 1e-3;
    const std::string name = job.name;
    Note(scheduler_.AddJob(now_, std::move(job)));
    return name;
  }
  // A submit, and its cancelling so that the queue keeps its length.
  void AddAndCancel() { Note(scheduler_.CancelJob(now_, Add("gpu"))); }
  // A case ends and the device gets the next one; a submit makes up for it.
  void EndAndDispatch() {
    const AssignTo ended = running_.begin()->second;
    running_.erase(running_.begin());
    now_ += 1e-3;
    Note(scheduler_
             .WorkerResult(now_, ended.worker_id, {ended.ref, ended.attempt, ended.epoch, true},
                           {AttemptEnd::Kind::kResult, ""})
             .effects);
    Add("gpu");
  }
  // The one that is asked for must wait.
  void Prepare() {
    const JobEntry* probe = scheduler_.FindJob(probe_);
    if (probe == nullptr || probe->state != State::kQueued) probe_ = Add("gpu", 0);
  }
  void Position() { sink_ += scheduler_.QueuePosition(probe_); }
  void Place() { sink_ += scheduler_.PlaceOf(now_, probe_).position; }
  void View() { sink_ += static_cast<int>(scheduler_.View(now_, 50).waiting.size()); }
  void Explain() { sink_ += scheduler_.Explain(now_, probe_, 20).ahead_jobs; }
  void Tick() { Note(scheduler_.Tick(now_)); }

 private:
  static Options LongLeases() {
    Options options;
    options.lease_seconds = 1e12;
    return options;
  }
  void Note(const Effects& effects) {
    for (const AssignTo& assign : effects.assigns) running_[assign.epoch] = assign;
    if (running_.size() == 4) return;
    sink_ += static_cast<int>(effects.cases.size());
  }

  Scheduler scheduler_;
  double now_ = 1.8e9;
  std::int64_t next_ = 0;
  std::map<std::int64_t, AssignTo> running_;
  std::string probe_;
  int sink_ = 0;
};

TEST(SchedulerCost, GrowsWithTheLogarithmOfTheQueueOnly) {
  const std::pair<const char*, void (LongQueue::*)()> kSteps[] = {
      {"submit + cancel", &LongQueue::AddAndCancel},
      {"end + dispatch + submit", &LongQueue::EndAndDispatch},
      {"position", &LongQueue::Position},
      {"position + start", &LongQueue::Place},
      {"explain, 20 ahead", &LongQueue::Explain},
      {"tick", &LongQueue::Tick},
      {"view, 50 jobs", &LongQueue::View}};
  const int kWaiting[] = {100, 1000, 100'000};
  std::vector<std::unique_ptr<LongQueue>> queues;
  for (const int waiting : kWaiting) queues.push_back(std::make_unique<LongQueue>(waiting));
  std::printf("%-26s %12s %12s %12s  microseconds\n", "step \\ waiting jobs", "100", "1000",
              "100000");
  for (const auto& [name, step] : kSteps) {
    double took[3];
    for (std::size_t i = 0; i < queues.size(); ++i) {
      queues[i]->Prepare();
      took[i] = Microseconds([&, s = step] { (queues[i].get()->*s)(); });
    }
    std::printf("%-26s %12.2f %12.2f %12.2f\n", name, took[0], took[1], took[2]);
    // From the second to the third only the queue grows, not the number of lanes: a walk over it
    // would cost a hundred times as much; the memory's caches alone may cost several.
    EXPECT_LT(took[2], 12 * took[1] + 20) << name;
  }
}

}  // namespace
}  // namespace kbench::scheduler
