// A wall clock that is set back and forth while jobs run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "tests/server/metrics/promtool.h"
#include "tests/server/rpc/harness.h"

namespace kbench::metrics {
namespace {

using ::testing::HasSubstr;

class JumpingClock final : public Clock {
 public:
  int64_t WallMicros() const override { return SystemClock().WallMicros() + offset_; }
  double SteadySeconds() const override { return SystemClock().SteadySeconds(); }
  void Jump(double seconds) { offset_ += static_cast<int64_t>(seconds * 1e6); }

 private:
  std::atomic<int64_t> offset_ = 0;
};

// The series of counters and histograms: they may only grow.
std::map<std::string, double> Growing(const std::string& text) {
  std::map<std::string, double> values;
  std::map<std::string, std::string> types;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, kind, name, type;
    words >> hash >> kind >> name >> type;
    if (kind == "TYPE") types[name] = type;
    if (hash == "#") continue;
    std::string family = line.substr(0, line.find_first_of("{ "));
    for (const char* end : {"_bucket", "_sum", "_count"}) {
      const std::size_t at = family.rfind(end);
      if (at != std::string::npos && types.count(family.substr(0, at)) > 0) family.resize(at);
    }
    if (types[family] == "gauge") continue;
    values[line.substr(0, line.rfind(' '))] = std::atof(line.substr(line.rfind(' ') + 1).c_str());
  }
  return values;
}

TEST(Clock, JumpsSpoilNothing) {
  JumpingClock clock;
  server::TestServer server(server::TestServer::DefaultOptions(), "", clock);
  server::FakeWorker worker(server, "w1", server::FakeDevice("cpu", "cpu"));
  std::map<std::string, double> before;
  int jobs = 0;
  for (const double jump : {0.0, 86'400.0, -2 * 86'400.0, -3600.0, 400 * 86'400.0}) {
    const std::string job = server.MustSubmit(server::MatmulJob()).name();
    const auto assign = worker.Assign();
    ASSERT_TRUE(assign.has_value());
    clock.Jump(jump);  // while it runs
    worker.SendResult(server::FakeWorker::GoodResult(*assign));
    ASSERT_TRUE(worker.Ack().has_value());
    server.WaitFor(job, kbench::v1::JOB_STATE_SUCCEEDED);
    worker.Beat();
    ++jobs;
    const std::string done =
        "kbench_jobs_completed_total{state=\"SUCCEEDED\"} " + std::to_string(jobs) + "\n";
    std::string text;
    for (int i = 0; i < 1000 && text.find(done) == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      text = server.server().metrics().Text();
    }
    ASSERT_THAT(text, HasSubstr(done));
    const auto now = Growing(text);
    EXPECT_GT(now.size(), 50u);
    for (const auto& [series, value] : now) {
      EXPECT_TRUE(std::isfinite(value) && value >= 0) << series << " " << value;
      const auto was = before.find(series);
      EXPECT_GE(value, was == before.end() ? 0 : was->second) << series << " at " << jump;
    }
    EXPECT_LT(now.at("kbench_job_run_duration_seconds_sum"), 3600) << "the jump is in it";
    before = now;
    EXPECT_TRUE(!HavePromtool() || PromtoolIsSilent(text));
  }
}

}  // namespace
}  // namespace kbench::metrics
