// Many who watch few jobs, while those finish one after the other; then some who stop reading.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "tests/load/jobs.h"
#include "tests/load/process.h"
#include "tests/load/scenarios.h"
#include "tests/load/watching.h"

namespace kbench::load {
namespace {

constexpr int kJobs = 50;
constexpr double kJobsPerSecond = 50;
constexpr int kStreamsOnOne = 500;  // a connection takes 1000
constexpr double kMostDelay = 0.250;
constexpr double kMostMiBEach = 1;

// Lets one pass every 1 / rate seconds.
class Pace {
 public:
  explicit Pace(double rate) : step_(1 / rate) {}
  void Wait() {
    double at = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      at = next_ = std::max(next_ + step_, Now());
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(at - Now()));
  }

 private:
  const double step_;
  std::mutex mutex_;
  double next_ = 0;
};

class Crowd {
 public:
  Crowd(const ServerProcess& server, int connections) {
    for (int i = 0; i < connections; ++i) {
      stubs_.push_back(kbench::v1::JobService::NewStub(server.Connect()));
    }
  }
  void Watch(const std::vector<std::string>& jobs, int count, bool reads) {
    for (int i = 0; i < count; ++i) {
      const auto which = static_cast<std::size_t>(i);
      watching_.push_back(std::make_unique<Watching>(*stubs_[which % stubs_.size()],
                                                     jobs[which % jobs.size()], reads, streams_));
    }
    streams_.WaitForAttached(count, 60);
  }
  OpenStreams& streams() { return streams_; }
  const std::vector<std::unique_ptr<Watching>>& all() const { return watching_; }

 private:
  std::vector<std::unique_ptr<kbench::v1::JobService::Stub>> stubs_;
  OpenStreams streams_;
  std::vector<std::unique_ptr<Watching>> watching_;
};

std::vector<std::string> SubmitJobs(const ServerProcess& server, int jobs, int cases) {
  Caller caller(server.Connect());
  std::vector<std::string> names;
  for (int i = 0; i < jobs; ++i) {
    names.push_back(caller.Submit(MakeRequest("ada", cases)).name());
  }
  return names;
}

std::vector<std::unique_ptr<LoadWorker>> StartWorkers(const ServerProcess& server, int count,
                                                      Pace& pace) {
  std::vector<std::unique_ptr<LoadWorker>> workers;
  for (int i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<LoadWorker>(server.Connect(), "load" + std::to_string(i),
                                                   [&pace](const kbench::v1::Assign&) {
                                                     pace.Wait();
                                                     return true;
                                                   }));
  }
  return workers;
}

struct Round {
  Times delays;
  bool consistent = true;
  double seconds = 0;
};

// All watchers are there before the first job runs.
Round OneRound(const ServerProcess& server, int watchers) {
  constexpr int kWorkers = 5;
  Round round;
  const std::vector<std::string> jobs = SubmitJobs(server, kJobs, 1);
  Crowd crowd(server, (watchers + kStreamsOnOne - 1) / kStreamsOnOne);
  crowd.Watch(jobs, watchers, true);
  Pace pace(kJobsPerSecond);
  const double start = Now();
  const auto workers = StartWorkers(server, kWorkers, pace);
  round.consistent = crowd.streams().WaitForNone(60);
  round.seconds = Now() - start;
  if (!round.consistent) {
    for (const auto& one : crowd.all()) one->Cancel();
    crowd.streams().WaitForNone(60);
  }
  for (const auto& one : crowd.all()) {
    round.consistent = round.consistent && one->consistent();
    round.delays.Add(one->delays());
  }
  return round;
}

// Readers that stop, of a job with many events, and others of the same job that do not.
void StoppedReaders(const ServerProcess& server, int stopped, int cases, Verdicts& verdicts) {
  const std::vector<std::string> jobs = SubmitJobs(server, 1, cases);
  const double before = server.RssMiB();
  Crowd still(server, stopped);  // a connection each: what one does not read holds up no other
  still.Watch(jobs, stopped, false);
  Crowd crowd(server, 1);
  crowd.Watch(jobs, 20, true);
  Pace pace(10'000);
  double most = 0;
  bool ended = false;
  {
    const auto workers = StartWorkers(server, 1, pace);
    for (int i = 0; i < 1200 && !ended; ++i) {
      ended = crowd.streams().WaitForNone(0.1);
      most = std::max(most, server.RssMiB());
    }
  }
  bool consistent = ended;
  Times delays;
  for (const auto& one : crowd.all()) {
    consistent = consistent && one->consistent();
    delays.Add(one->delays());
  }
  verdicts.Must("beside stopped readers every event comes once and in order", consistent);
  verdicts.AtMost("p99 delivery beside stopped readers", delays.P99() * 1e3, kMostDelay * 1e3,
                  "ms");
  // The job itself and its results cost memory too: all of the growth is put down to the readers.
  verdicts.AtMost("memory of a stopped reader", (most - before) / stopped, kMostMiBEach, "MiB");
  for (const auto& one : still.all()) one->Cancel();
  for (const auto& one : crowd.all()) one->Cancel();
  verdicts.Must("the streams end",
                still.streams().WaitForNone(30) && crowd.streams().WaitForNone(30));
}

}  // namespace

void RunWatchers(const Size& size, Verdicts& verdicts) {
  const int watchers = size.small ? 50 : 1000;
  const int rounds = size.small ? 1 : 5;
  Folder folder;
  const auto server = StartCoordinator(folder, size.server);
  Times delays;
  bool consistent = true;
  for (int i = 0; i < rounds; ++i) {
    const Round round = OneRound(*server, watchers);
    consistent = consistent && round.consistent;
    delays.Add(round.delays);
    Verdicts::Say(fmt::format(
        "round {}: {} watchers, {} jobs in {:.2f} s, {} events, delivery median {:.1f} ms, p99 "
        "{:.1f} ms, longest {:.1f} ms",
        i + 1, watchers, kJobs, round.seconds, round.delays.size(), round.delays.Median() * 1e3,
        round.delays.P99() * 1e3, round.delays.Max() * 1e3));
  }
  verdicts.Must("every watcher got every durable event once and in order", consistent);
  verdicts.AtMost("p99 delivery", delays.P99() * 1e3, kMostDelay * 1e3, "ms");
  StoppedReaders(*server, size.small ? 2 : 50, size.small ? 50 : 1000, verdicts);
}

}  // namespace kbench::load
