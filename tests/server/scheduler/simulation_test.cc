// The scheduler in a hostile world: workers crash, streams break, acknowledgements get lost, the
// coordinator restarts. After every step memory equals disk and the invariants hold (World::Check);
// once everybody behaves, every job ends.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tests/server/scheduler/world.h"

namespace kbench::scheduler {
namespace {

// A worker as the real one behaves: one attempt at a time, results spooled until acknowledged.
struct FakeWorker {
  WorkerEntry entry;
  int boot = 1;
  bool connected = false;
  std::optional<Held> running;
  std::vector<Held> spool;

  std::vector<Held> Holds() const {
    std::vector<Held> held = spool;
    if (running) held.push_back(*running);
    return held;
  }
};

class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {
    AddWorker("w0", "gpu0", "cuda");
    AddWorker("w1", "gpu1", "cuda");
    AddWorker("w2", "cpu", "cpu");
  }

  void HostileStep() {
    FakeWorker& worker = workers_[Pick(workers_.size())];
    switch (Pick(12)) {
      case 0:
        Submit();
        break;
      case 1:
        if (jobs_ > 0) Cancel();
        break;
      case 2:
        Crash(worker);
        break;
      case 3:
        Disconnect(worker);
        break;
      case 4:
        if (Pick(10) == 0) RestartCoordinator();
        break;
      case 5:
        Finish(worker, static_cast<AttemptEnd::Kind>(Pick(3)), Pick(4) == 0);
        break;
      case 6:
      case 7:
        Finish(worker, AttemptEnd::Kind::kResult, Pick(4) == 0);
        break;
      case 8:
        Connect(worker);
        break;
      default:
        Beat(worker);
        break;
    }
    if (Pick(40) == 0) world_.Pass(35);  // everybody is silent for longer than a lease
    world_.Advance(0.3);
    world_.Tick();
    Deliver();
  }

  void CalmStep() {
    for (FakeWorker& worker : workers_) {
      Connect(worker);
      Deliver();
      Beat(worker);
      Deliver();
      Finish(worker, AttemptEnd::Kind::kResult, false);
      Deliver();
    }
    world_.Advance(1);
    world_.Tick();
    Deliver();
  }

  // What is still open, for the message of a failed run.
  std::string Describe() const {
    std::string text;
    for (const auto& [name, job] : world_.durable()) {
      for (const Case& item : job.cases) {
        if (IsFinal(item.state)) continue;
        text += "\n" + name + " on '" + job.device + "' case " + std::to_string(item.ref.index) +
                " " + StateName(item.state) + " attempt " + std::to_string(item.attempts) +
                " epoch " + std::to_string(item.open_epoch) + " worker " + item.worker;
      }
    }
    for (const FakeWorker& worker : workers_) {
      text += "\n" + worker.entry.worker_id + (worker.connected ? " connected" : " away");
      for (const Held& held : worker.Holds()) {
        text += " epoch " + std::to_string(held.epoch) + (held.finished ? " finished" : " running");
      }
    }
    return text;
  }
  std::string Check() const { return world_.Check(); }
  bool AllEnded() const { return world_.scheduler_const().ActiveJobs().empty(); }
  std::size_t Accepted() const { return world_.accepted().size(); }

 private:
  struct SimWorld : World {
    Scheduler& scheduler_const() const { return const_cast<SimWorld*>(this)->scheduler(); }
  };

  std::size_t Pick(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  void AddWorker(const std::string& id, const std::string& device, const std::string& kind) {
    FakeWorker worker;
    worker.entry = world_.Worker(id, "boot1", device, kind);
    workers_.push_back(worker);
  }
  void Submit() {
    static const char* const kDevices[] = {"", "gpu", "cpu", "gpu0", "gpu1"};
    const double deadline = Pick(5) == 0 ? world_.now() + 10 : 0;
    world_.Add("jobs/" + std::to_string(jobs_++), 1 + static_cast<int>(Pick(4)), kDevices[Pick(5)],
               static_cast<int>(Pick(3)) * 100, deadline);
  }
  void Cancel() {
    world_.Apply(world_.scheduler().CancelJob(
        world_.now(), "jobs/" + std::to_string(Pick(static_cast<std::size_t>(jobs_)))));
  }
  void Crash(FakeWorker& worker) {
    worker.running.reset();
    worker.connected = false;
    worker.entry.boot_id = "boot" + std::to_string(++worker.boot);
  }
  void Disconnect(FakeWorker& worker) {
    if (!worker.connected) return;
    worker.connected = false;
    world_.Apply(
        world_.scheduler().WorkerGone(world_.now(), worker.entry.worker_id, worker.entry.boot_id));
  }
  void RestartCoordinator() {
    for (FakeWorker& worker : workers_) worker.connected = false;
    world_.Restart();
  }
  void Connect(FakeWorker& worker) {
    if (worker.connected) return;
    const HelloAnswer answer = world_.Hello(worker.entry, worker.Holds());
    if (!answer.accepted) return;
    worker.connected = true;
    for (const auto& [held, action] : answer.held) {
      if (action == HeldAction::kKill) Forget(worker, held);
      if (action == HeldAction::kResend) Send(worker, held, AttemptEnd::Kind::kResult, false);
    }
  }
  static void Forget(FakeWorker& worker, const Held& held) {
    if (worker.running && worker.running->epoch == held.epoch) worker.running.reset();
    std::erase_if(worker.spool, [&](const Held& h) { return h.epoch == held.epoch; });
  }
  void Beat(FakeWorker& worker) {
    if (worker.connected) world_.Beat(worker.entry, worker.Holds());
  }
  void Finish(FakeWorker& worker, AttemptEnd::Kind kind, bool ack_lost) {
    if (!worker.running) return;
    Held held = *worker.running;
    worker.running.reset();
    held.finished = true;
    worker.spool.push_back(held);
    if (worker.connected) Send(worker, held, kind, ack_lost);
  }
  void Send(FakeWorker& worker, const Held& held, AttemptEnd::Kind kind, bool ack_lost) {
    world_.Result(worker.entry.worker_id, held, kind);
    if (!ack_lost) Forget(worker, held);
  }
  void Deliver() {
    for (const AssignTo& assign : world_.TakeAssigns()) {
      for (FakeWorker& worker : workers_) {
        if (worker.entry.worker_id != assign.worker_id || !worker.connected) continue;
        EXPECT_FALSE(worker.running) << "assigned to a busy worker";
        worker.running = HeldOf(assign);
      }
    }
    for (const CancelOn& cancel : world_.TakeCancels()) {
      for (FakeWorker& worker : workers_) {
        if (worker.connected && worker.running && worker.running->epoch == cancel.epoch) {
          Finish(worker, AttemptEnd::Kind::kCancelled, false);
        }
      }
    }
  }

  std::mt19937 random_;
  SimWorld world_;
  std::vector<FakeWorker> workers_;
  int jobs_ = 0;
};

TEST(SchedulerSimulation, InvariantsHoldAndEveryJobEnds) {
  std::size_t accepted = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    Simulation simulation(seed);
    for (int step = 0; step < 400; ++step) {
      simulation.HostileStep();
      ASSERT_EQ(simulation.Check(), "") << "seed " << seed << ", step " << step;
    }
    for (int step = 0; step < 400 && !simulation.AllEnded(); ++step) {
      simulation.CalmStep();
      ASSERT_EQ(simulation.Check(), "") << "seed " << seed << ", calm step " << step;
    }
    ASSERT_TRUE(simulation.AllEnded()) << "seed " << seed << simulation.Describe();
    accepted += simulation.Accepted();
  }
  EXPECT_GT(accepted, 1000u) << "the simulation must reach results at all";
}

}  // namespace
}  // namespace kbench::scheduler
