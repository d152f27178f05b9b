// What /metrics says: exact labels, only default results, bounded, lint-clean, also after a
// restart.
#include "server/metrics/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "tests/server/rpc/harness.h"

namespace kbench::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

kbench::v1::Result MakeResult(const std::string& implementation, double median) {
  kbench::v1::Result result;
  result.mutable_case_()->set_kernel("matmul");
  result.mutable_case_()->set_dtype("fp16");
  result.mutable_case_()->set_size("4096");
  result.mutable_case_()->set_shape("m=4096,n=4096,k=4096,layout=nn");
  result.set_implementation(implementation);
  result.set_device("gpu0");
  result.set_outcome(kbench::v1::OUTCOME_OK);
  result.set_verdict(kbench::v1::VERDICT_VALID);
  result.mutable_device_time()->set_median(median);
  result.mutable_device_time()->set_low(median * 0.99);
  result.mutable_device_time()->set_high(median * 1.01);
  result.mutable_throughput()->set_flops(1e9);
  result.mutable_throughput()->set_flops_per_second(1e9 / median);
  *result.mutable_create_time() = ToTimestamp(1'700'000'000'000'000);
  return result;
}

std::string HttpGet(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  const std::string request = "GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n";
  EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  close(fd);
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

// A full picture: every family there is.
std::string EverythingText() {
  Metrics metrics("1.2.3");
  metrics.JobSubmitted();
  metrics.JobCompleted(scheduler::State::kFailed, 1, 2);
  metrics.CommitTook(0.001);
  metrics.AttemptTook("gpu0", {{"measure", 1.5}, {"burst", 1.25}}, 0.01);
  kbench::v1::Result result = MakeResult("cublas", 1e-3);
  result.mutable_throughput()->set_bytes(1);
  result.mutable_throughput()->set_bytes_per_second(2);
  result.mutable_throughput()->set_peak_flops_ratio(0.5);
  result.mutable_throughput()->set_peak_bandwidth_ratio(0.5);
  result.mutable_verification()->set_verified(true);
  metrics.RecordResult(result);
  metrics.SetLiveSource([] {
    LiveState live;
    live.devices.push_back(server::FakeDevice("gpu0", "cuda"));
    live.devices[0].set_state("BUSY");
    kbench::v1::Telemetry& telemetry = *live.devices[0].mutable_telemetry();
    telemetry.set_sm_clock_hertz(1e9);
    telemetry.set_memory_clock_hertz(1e9);
    telemetry.set_temperature_celsius(40);
    telemetry.set_power_watts(300);
    (*live.devices[0].mutable_kept_bytes())["spool"] = 4096;
    kbench::v1::Calibration& calibration = *live.devices[0].mutable_calibration();
    calibration.set_passed(true);
    calibration.set_event_floor_seconds(1.28e-6);
    calibration.set_null_kernel_seconds(3.3e-6);
    calibration.set_event_cost_seconds(2e-6);
    calibration.set_quantum_seconds(3.2e-8);
    calibration.set_read_bandwidth(4.1e12);
    calibration.set_write_bandwidth(4.2e12);
    calibration.set_copy_bandwidth(4.3e12);
    calibration.set_between_session_ratio(0.003);
    calibration.set_canaries(7);
    (*calibration.mutable_matmul_flops())["fp16"] = 8e14;
    (*calibration.mutable_matmul_flops())["fp32"] = 5e13;
    return live;
  });
  return metrics.Text();
}

TEST(Metrics, ResultsCarryExactlyTheLabelsOfTheDesign) {
  Metrics metrics("1.2.3");
  metrics.RecordResult(MakeResult("cublas", 0.001));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("kbench_result_duration_seconds{kernel=\"matmul\","
                              "implementation=\"cublas\",dtype=\"fp16\","
                              "size=\"m=4096,n=4096,k=4096,layout=nn\",mode=\"cold\","
                              "device=\"gpu0\"} 0.001"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("kbench_result_", 0) != 0 || line.find('{') == std::string::npos) continue;
    std::set<std::string> labels;
    const std::regex label("([a-z_]+)=\"");
    for (std::sregex_iterator it(line.begin(), line.end(), label), end; it != end; ++it) {
      // The shape holds m=,n=,k= inside its quotes, never followed by a quote.
      labels.insert((*it)[1]);
    }
    EXPECT_EQ(labels, (std::set<std::string>{"kernel", "implementation", "dtype", "size", "mode",
                                             "device"}))
        << line;
  }
  EXPECT_THAT(text, Not(HasSubstr("kbench_result_bytes_per_second{"))) << "not known, not exported";
}

TEST(Metrics, OnlyDefaultResultsFeedThem) {
  Metrics metrics("1.2.3");
  metrics.RecordResult(MakeResult("cublas", 0.001));
  kbench::v1::Result quick = MakeResult("cublas", 0.5);
  quick.mutable_policy()->set_target_ratio(0.02);
  metrics.RecordResult(quick);
  kbench::v1::Result dirty = MakeResult("cublas", 0.5);
  dirty.mutable_policy()->set_flush("dirty");
  metrics.RecordResult(dirty);
  kbench::v1::Result wrong = MakeResult("cublas", 0.5);
  wrong.set_outcome(kbench::v1::OUTCOME_WRONG_RESULT);
  metrics.RecordResult(wrong);
  metrics.RecordResult(MakeResult("selftest/a", 0.5));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("} 0.5")));
  kbench::v1::Result explicit_default = MakeResult("cublas", 0.25);
  explicit_default.mutable_policy()->set_target_ratio(0.005);
  explicit_default.mutable_policy()->set_flush("clean");
  explicit_default.set_verdict(kbench::v1::VERDICT_SUSPECT);
  metrics.RecordResult(explicit_default);
  EXPECT_THAT(metrics.Text(), HasSubstr("} 0.25"));
  EXPECT_THAT(metrics.Text(), ::testing::ContainsRegex("kbench_result_valid\\{[^}]*\\} 0\n"));
}

TEST(Metrics, LabelSetsAreBoundedAndTheOldestGoes) {
  Metrics metrics("1.2.3", 3);
  for (const char* name : {"a", "b", "c", "a", "d", "e"}) {
    metrics.RecordResult(MakeResult(name, 0.001));
  }
  const std::string text = metrics.Text();
  for (const char* kept : {"a", "d", "e"}) {
    EXPECT_THAT(text, HasSubstr("implementation=\"" + std::string(kept) + "\""));
  }
  for (const char* gone : {"b", "c"}) {
    EXPECT_THAT(text, Not(HasSubstr("implementation=\"" + std::string(gone) + "\"")));
  }
  EXPECT_THAT(text, HasSubstr("kbench_result_series_evicted_total 2"));
}

TEST(Metrics, TheTimeOfADeviceIsCountedByPhase) {
  Metrics metrics("1.2.3");
  metrics.AttemptTook("gpu0", {{"measure", 1.5}, {"burst", 1.25}, {"prepare", 0.5}}, 0.03);
  metrics.AttemptTook("gpu0", {{"measure", 0.5}, {"wait", -1}, {"made up", 9}}, 0);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("kbench_device_busy_seconds_total{device=\"gpu0\","
                              "phase=\"measure\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("phase=\"burst\"} 1.25\n"));
  EXPECT_THAT(text, HasSubstr("phase=\"prepare\"} 0.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("phase=\"wait\"")));
  EXPECT_THAT(text, Not(HasSubstr("made up"))) << "the label is bounded";
  EXPECT_THAT(text, HasSubstr("kbench_case_gap_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("kbench_case_gap_seconds_bucket{le=\"0.05\"} 1\n"));
}

TEST(Metrics, ACalibrationIsExported) {
  const std::string text = EverythingText();
  for (const char* line :
       {"kbench_device_calibration_passed{device=\"gpu0\"} 1\n",
        "kbench_device_event_floor_seconds{device=\"gpu0\"} 1.28e-06\n",
        "kbench_device_null_kernel_seconds{device=\"gpu0\"} 3.3e-06\n",
        "kbench_device_clock_quantum_seconds{device=\"gpu0\"} 3.2e-08\n",
        "kbench_device_read_bandwidth_bytes_per_second{device=\"gpu0\"} 4100000000000\n",
        "kbench_device_write_bandwidth_bytes_per_second{device=\"gpu0\"} 4200000000000\n",
        "kbench_device_copy_bandwidth_bytes_per_second{device=\"gpu0\"} 4300000000000\n",
        "kbench_device_matmul_roof_flops_per_second{device=\"gpu0\",dtype=\"fp16\"} 8",
        "kbench_device_between_session_ratio{device=\"gpu0\"} 0.003\n",
        "kbench_device_canaries{device=\"gpu0\"} 7\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr("kbench_device_state{device=\"gpu0\",state=\"CALIBRATING\"} 0\n"));
}

TEST(Metrics, TheTextFollowsThePromptoolsRules) {
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  const std::string text = EverythingText();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, kind, name, type;
    words >> hash >> kind >> name >> type;
    if (kind == "HELP") {
      EXPECT_TRUE(helped.insert(name).second) << name << " twice";
    }
    if (kind == "TYPE") {
      EXPECT_TRUE(types.emplace(name, type).second) << name << " twice";
    }
  }
  EXPECT_GT(types.size(), 25u);
  for (const auto& [name, type] : types) {
    EXPECT_TRUE(helped.count(name)) << name;
    EXPECT_EQ(name.rfind("kbench_", 0), 0u) << name;
    EXPECT_EQ(type == "counter", name.size() > 6 && name.substr(name.size() - 6) == "_total")
        << name;
    EXPECT_FALSE(std::regex_search(name, std::regex("millis|micros|_ms$|_us$|mib|mhz|percent")))
        << name;
  }
  if (std::system("command -v promtool > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed (package prometheus): only our own rules were tried";
  }
  TempDir dir;
  std::ofstream(dir / "metrics") << text;
  EXPECT_EQ(std::system(("promtool check metrics < " + (dir / "metrics")).c_str()), 0);
}

TEST(Metrics, ATakenPortIsOneLine) {
  Metrics first("1");
  const auto address = first.Serve("127.0.0.1:0");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_THAT(HttpGet(*address), HasSubstr("kbench_build_info"));
  Metrics second("1");
  const auto taken = second.Serve(*address);
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(MessageOf(taken.status()), HasSubstr("the port is taken"));
  EXPECT_FALSE(second.Serve("nonsense").ok());
}

TEST(Metrics, AServerExportsWhatItsStoreHoldsAlsoAfterARestart) {
  server::TestServer server(server::TestServer::DefaultOptions(), "127.0.0.1:0");
  server::FakeWorker worker(server, "w1", server::FakeDevice("cpu", "cpu"));
  const std::string job = server.MustSubmit(server::MatmulJob()).name();
  worker.RunOne();
  server.WaitFor(job, kbench::v1::JOB_STATE_SUCCEEDED);
  const std::string series =
      "kbench_result_duration_seconds{kernel=\"matmul\",implementation=\"cpu/onednn\","
      "dtype=\"fp32\",size=\"m=64,n=64,k=64,layout=nn\",mode=\"cold\",device=\"cpu\"} 0.001";
  const std::string completed = "kbench_jobs_completed_total{state=\"SUCCEEDED\"} 1";
  // Whoever reads the store may be a moment ahead of the counters.
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text = HttpGet(server.server().metrics_address());
    if (text.find(series) != text.npos && text.find(completed) != text.npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(text, HasSubstr(series));
  EXPECT_THAT(text, HasSubstr("kbench_jobs_submitted_total 1"));
  EXPECT_THAT(text, HasSubstr(completed));
  EXPECT_THAT(text, HasSubstr("kbench_worker_up{device=\"cpu\"} 1"));
  EXPECT_THAT(text, HasSubstr("kbench_queue_cases 0"));
  EXPECT_THAT(text, Not(HasSubstr(job))) << "no job labels";
  kbench::v1::Heartbeat heartbeat;
  heartbeat.set_device_state("READY");
  (*heartbeat.mutable_kept_bytes())["spool"] = 1234;
  (*heartbeat.mutable_kept_bytes())["caches"] = 5000;
  (*heartbeat.mutable_kept_bytes())["anything else"] = 7;
  worker.Beat(heartbeat);
  const std::string kept = "kbench_worker_bytes{device=\"cpu\",kind=\"spool\"} 1234";
  for (int i = 0; i < 500 && text.find(kept) == text.npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    text = HttpGet(server.server().metrics_address());
  }
  EXPECT_THAT(text, HasSubstr(kept));
  EXPECT_THAT(text, HasSubstr("kbench_worker_bytes{device=\"cpu\",kind=\"caches\"} 5000"));
  EXPECT_THAT(text, Not(HasSubstr("anything else"))) << "a worker makes no label";
  worker.Disconnect();
  server.Restart();
  text = HttpGet(server.server().metrics_address());
  EXPECT_THAT(text, HasSubstr(series));
  EXPECT_THAT(text, HasSubstr("kbench_worker_up{device=\"cpu\"} 0")) << "known, and away";
  EXPECT_THAT(text, Not(HasSubstr("kbench_worker_bytes"))) << "nobody knows any more";
}

}  // namespace
}  // namespace kbench::metrics
