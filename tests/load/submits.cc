// Durable submits against their two bounds, in turns, so that all three see the same machine.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "tests/load/jobs.h"
#include "tests/load/process.h"
#include "tests/load/scenarios.h"

namespace kbench::load {
namespace {

constexpr int kConnections = 16;
constexpr double kEchoShare = 0.5;
constexpr double kDiskShare = 0.8;
constexpr double kMostP99 = 0.020;

// 4 KiB overwritten and synced, over and over, in a file that was written before.
Times MeasureSync(const Folder& folder, double seconds) {
  constexpr int kBlocks = 256;
  const std::string block(4096, 'x');
  const int fd = open((folder / "sync").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  for (int i = 0; i < kBlocks; ++i) {
    if (pwrite(fd, block.data(), block.size(), i * 4096) < 0) break;
  }
  fsync(fd);
  Times times;
  const double end = Now() + seconds;
  for (int i = 0; Now() < end; ++i) {
    if (pwrite(fd, block.data(), block.size(), i % kBlocks * 4096) < 0) break;
    const double start = Now();
    fdatasync(fd);
    times.Add(Now() - start);
  }
  close(fd);
  return times;
}

struct Rate {
  double per_second = 0;
  Times times;
};

// `call` over and over on 16 connections at once.
Rate Drive(const std::vector<std::shared_ptr<grpc::Channel>>& channels, double seconds,
           const std::function<void(Caller&, Times&)>& call) {
  std::vector<Times> times(channels.size());
  std::vector<std::thread> threads;
  const double start = Now();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    threads.emplace_back([&, i] {
      Caller caller(channels[i]);
      while (Now() < start + seconds) call(caller, times[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Rate rate;
  const double took = Now() - start;
  for (const Times& one : times) rate.times.Add(one);
  rate.per_second = static_cast<double>(rate.times.size()) / took;
  return rate;
}

std::vector<std::shared_ptr<grpc::Channel>> ConnectAll(const ServerProcess& server) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < kConnections; ++i) channels.push_back(server.Connect());
  return channels;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

void RunSubmits(const Size& size, Verdicts& verdicts) {
  const int rounds = size.small ? 1 : 5;
  const double seconds = size.small ? 0.3 : 3;
  Folder folder;
  ServerProcess echo({size.program, "echo-server", folder / "echo"}, folder / "echo",
                     folder / "echo.log");
  const auto server = StartCoordinator(folder, size.server);
  const auto echo_channels = ConnectAll(echo);
  const auto channels = ConnectAll(*server);
  std::vector<double> echo_rates;
  std::vector<double> sync_seconds;
  std::vector<double> rates;
  std::vector<double> p99;
  Times all;
  for (int round = 0; round < rounds; ++round) {
    const Times syncs = MeasureSync(folder, seconds / 3);
    const Rate calls = Drive(echo_channels, seconds / 2,
                             [](Caller& caller, Times& times) { caller.Get("", &times); });
    const double cpu = server->CpuSeconds();
    const Rate submits = Drive(channels, seconds, [](Caller& caller, Times& times) {
      caller.Submit(MakeRequest("ada"), &times);
    });
    const double cpu_each =
        (server->CpuSeconds() - cpu) / static_cast<double>(submits.times.size());
    sync_seconds.push_back(syncs.Median());
    echo_rates.push_back(calls.per_second);
    rates.push_back(submits.per_second);
    p99.push_back(submits.times.P99());
    all.Add(submits.times);
    Verdicts::Say(fmt::format(
        "round {}: fdatasync {:.2f} ms (p99 {:.2f}), empty calls {:.0f}/s, submits {:.0f}/s, "
        "median {:.2f} ms, p99 {:.2f} ms, {:.0f} us of the coordinator's CPU each",
        round + 1, syncs.Median() * 1e3, syncs.P99() * 1e3, calls.per_second, submits.per_second,
        submits.times.Median() * 1e3, submits.times.P99() * 1e3, cpu_each * 1e6));
  }
  const double by_echo = kEchoShare * MedianOf(echo_rates);
  const double by_disk = kDiskShare * kConnections / MedianOf(sync_seconds);
  Verdicts::Say(
      fmt::format("bounds: {:.0f}/s by empty calls, {:.0f}/s by the disk", by_echo, by_disk));
  verdicts.AtLeast("durable submits", MedianOf(rates), std::min(by_echo, by_disk), "/s");
  verdicts.AtMost("p99 of a submit", MedianOf(p99) * 1e3, kMostP99 * 1e3, "ms");
  Caller caller(channels[0]);
  const int listed = caller.List(1000);
  const auto stored = static_cast<int>(std::min<std::size_t>(all.size(), 1000));
  verdicts.Must("every submit is listed", listed >= stored);
}

}  // namespace kbench::load
