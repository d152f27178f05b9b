// What a scraper costs: 1,500 label sets of results and 10,000 finished jobs in the coordinator;
// seconds of submits with a scrape beside them, and without, in turns.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "tests/load/jobs.h"
#include "tests/load/process.h"
#include "tests/load/scenarios.h"

namespace kbench::load {
namespace {

constexpr double kMostScrape = 0.1;
constexpr double kMostDelay = 1.05;
constexpr int kCasesOfJob = 150;

// As the coordinator noted it: HOST:PORT.
std::string MetricsAddress(const Folder& folder) {
  std::ifstream file(folder / "data/server.json");
  const std::string note((std::istreambuf_iterator<char>(file)), {});
  const std::string key = "\"metrics\":\"";
  const std::size_t at = note.find(key);
  if (at == std::string::npos) return "";
  const std::size_t from = at + key.size();
  return note.substr(from, note.find('"', from) - from);
}

// The answer, headers and all; empty when there is none.
std::string Scrape(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: kbench\r\n\r\n";
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 &&
      write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    std::vector<char> buffer(1 << 16);
    for (ssize_t n = 0; (n = read(fd, buffer.data(), buffer.size())) > 0;) {
      answer.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }
  close(fd);
  return answer;
}

int SeriesOf(const std::string& text, const std::string& family) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find("\n" + family + "{", at)) != text.npos; ++at) ++count;
  return count;
}

double ValueOf(const std::string& text, const std::string& series) {
  const std::size_t at = text.find("\n" + series + " ");
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + series.size() + 2);
}

// Results of so many sizes, and so many jobs that have ended.
void Fill(const ServerProcess& server, const std::string& address, int sizes, int jobs) {
  Caller caller(server.Connect());
  // Large jobs bring the sizes, small ones the count.
  for (int from = 0; from < sizes; from += kCasesOfJob) {
    auto request = MakeRequest("ada", std::min(kCasesOfJob, sizes - from));
    for (int i = 0; i < request.spec().cases_size(); ++i) {
      request.mutable_spec()->mutable_cases(i)->set_size(std::to_string(64 + from + i));
    }
    caller.Submit(request);
  }
  // One size for all of them: a label set that is there already.
  for (int i = (sizes + kCasesOfJob - 1) / kCasesOfJob; i < jobs; ++i) {
    caller.Submit(MakeRequest("bob"));
  }
  const double end = Now() + 900;
  while (ValueOf(Scrape(address), "kbench_jobs_completed_total{state=\"SUCCEEDED\"}") < jobs &&
         Now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

// Durable submits on one connection, one after the other: what each waits for.
Times SubmitFor(Caller& caller, double seconds) {
  Times times;
  const double end = Now() + seconds;
  while (Now() < end) caller.Submit(MakeRequest("carl"), &times);
  return times;
}

// With one scrape, at the beginning.
Times SubmitBesideAScrape(Caller& caller, double seconds, const std::string& address) {
  std::thread scraper([&] { Scrape(address); });
  Times times = SubmitFor(caller, seconds);
  scraper.join();
  return times;
}

double MeanOf(const Times& times, double seconds) {
  return seconds / static_cast<double>(std::max<std::size_t>(1, times.size()));
}

// Seconds of submits with a scrape and without, in turns: what else the machine does changes
// slowly, and concerns both of a pair. The ratio of the mean times of each pair.
Times RatiosOf(Caller& caller, const std::string& address, int pairs) {
  Times ratios;
  SubmitFor(caller, 2);  // warm
  for (int pair = 0; pair < pairs; ++pair) {
    double with = 0;
    double without = 0;
    for (const bool scraped : {pair % 2 == 0, pair % 2 != 0}) {
      const Times times = scraped ? SubmitBesideAScrape(caller, 1, address) : SubmitFor(caller, 1);
      (scraped ? with : without) = MeanOf(times, 1);
    }
    ratios.Add(with / without);
  }
  return ratios;
}

}  // namespace

void RunMetrics(const Size& size, Verdicts& verdicts) {
  const int sizes = size.small ? 40 : 1500;
  const int jobs = size.small ? 60 : 10'000;
  const int pairs = size.small ? 1 : 60;
  Folder folder;
  const auto server = StartCoordinator(
      folder, size.server,
      {"--metrics-listen", "127.0.0.1:0", "--ad-hoc-series", std::to_string(sizes + 100)});
  const auto channel = server->Connect();
  std::string address;
  for (int i = 0; i < 600 && address.empty(); ++i) {
    address = MetricsAddress(folder);
    if (address.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  {
    LoadWorker worker(channel, "cpu", nullptr);
    Fill(*server, address, sizes, jobs);
  }
  const std::string text = Scrape(address);
  const int series = SeriesOf(text, "kbench_result_duration_seconds");
  const double ended = ValueOf(text, "kbench_jobs_completed_total{state=\"SUCCEEDED\"}");
  Verdicts::Say(fmt::format("{} label sets, {:.0f} finished jobs, {:.1f} MB a scrape", series,
                            ended, static_cast<double>(text.size()) * 1e-6));
  verdicts.Must("all results and jobs are there", series >= sizes && ended >= jobs);
  Times scrapes;
  bool whole = true;
  for (int i = 0; i < 50; ++i) {
    const double start = Now();
    whole = whole && Scrape(address).size() >= text.size() / 2;
    scrapes.Add(Now() - start);
  }
  verdicts.Must("each scrape is whole", whole);
  verdicts.AtMost("median of 50 scrapes", scrapes.Median() * 1e3, kMostScrape * 1e3, "ms");
  verdicts.AtMost("longest of 50 scrapes", scrapes.Max() * 1e3, kMostScrape * 1e3, "ms");
  Caller caller(channel);
  const Times ratios = RatiosOf(caller, address, pairs);
  Verdicts::Say(
      fmt::format("{} pairs of seconds: a submit beside a scrape takes {:.3f} to {:.3f} "
                  "times one without (quartiles)",
                  pairs, ratios.Quantile(0.25), ratios.Quantile(0.75)));
  verdicts.AtMost("a submit beside a scrape a second, median of the pairs", ratios.Median(),
                  kMostDelay, "times one without");
}

}  // namespace kbench::load
