// What a long queue costs: every call beside the same on an empty one.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "tests/load/jobs.h"
#include "tests/load/process.h"
#include "tests/load/scenarios.h"

namespace kbench::load {
namespace {

constexpr double kMostRatio = 2;
constexpr double kMostMiB = 512;
constexpr double kMostRestart = 5;

struct Costs {
  Times submit;
  Times position;
  Times list;
  Times dispatch;
};

// Each on one connection, one after the other. The queue grows by `calls` jobs.
Costs Measure(const ServerProcess& server, int calls) {
  Costs costs;
  Caller caller(server.Connect());
  std::string last;
  for (int i = 0; i < calls; ++i) last = caller.Submit(MakeRequest("bob"), &costs.submit).name();
  // These two are quick: more of them.
  for (int i = 0; i < 5 * calls; ++i) caller.Get(last, &costs.position);
  for (int i = 0; i < 5 * calls; ++i) caller.List(50, &costs.list);
  return costs;
}

// From a result to the next assignment, while jobs wait: `count` of them are run.
void MeasureDispatch(const ServerProcess& server, int count, Times& times) {
  std::atomic<int> left = count;
  LoadWorker worker(
      server.Connect(), "load0", [&](const kbench::v1::Assign&) { return --left > 0; }, &times);
  for (int i = 0; i < 600 && left > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void Fill(const ServerProcess& server, int jobs) {
  constexpr int kThreads = 16;
  std::atomic<int> left = jobs;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Caller caller(server.Connect());
      const std::string owner = "owner" + std::to_string(i);
      while (left-- > 0) caller.Submit(MakeRequest(owner));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void Compare(const char* what, const Times& empty, const Times& full, Verdicts& verdicts) {
  Verdicts::Say(fmt::format("{}: median {:.2f} ms empty, {:.2f} ms full", what,
                            empty.Median() * 1e3, full.Median() * 1e3));
  verdicts.AtMost(std::string(what) + ", full beside empty", full.Median() / empty.Median(),
                  kMostRatio, "times");
}

}  // namespace

void RunQueue(const Size& size, Verdicts& verdicts) {
  const int calls = size.small ? 20 : 200;
  const int jobs = size.small ? 500 : 100'000 - 3 * calls;
  Costs empty;
  Costs full;
  {
    Folder folder;
    const auto server = StartCoordinator(folder, size.server);
    empty = Measure(*server, calls);
    MeasureDispatch(*server, calls - 1, empty.dispatch);
  }
  Folder folder;
  auto server = StartCoordinator(folder, size.server);
  double start = Now();
  Fill(*server, jobs);
  Verdicts::Say(fmt::format("{} jobs submitted in {:.1f} s", jobs, Now() - start));
  full = Measure(*server, calls);
  MeasureDispatch(*server, calls - 1, full.dispatch);
  Compare("submit", empty.submit, full.submit, verdicts);
  Compare("position", empty.position, full.position, verdicts);
  Compare("list of 50", empty.list, full.list, verdicts);
  Compare("dispatch", empty.dispatch, full.dispatch, verdicts);
  verdicts.AtMost("memory of the coordinator", server->RssMiB(), kMostMiB, "MiB");
  server->End(9);
  start = Now();
  server = StartCoordinator(folder, size.server);
  Caller caller(server->Connect());
  const int listed = caller.List(50);
  verdicts.AtMost("restart to serving after kill -9", Now() - start, kMostRestart, "s");
  verdicts.AtMost("memory after the restart", server->RssMiB(), kMostMiB, "MiB");
  verdicts.Must("the jobs are still there", listed == 50);
}

}  // namespace kbench::load
