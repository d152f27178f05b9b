// What /metrics says: exact labels, only default results, bounded, lint-clean, also after a
// restart.
#include "server/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "tests/server/metrics/http_client.h"
#include "tests/server/metrics/promtool.h"
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

kbench::v1::CellKey CellOf(const std::string& implementation) {
  kbench::v1::CellKey cell;
  cell.set_kernel("matmul");
  cell.set_implementation(implementation);
  cell.set_dtype("fp16");
  cell.set_shape("m=4096,n=4096,k=4096,layout=nn");
  cell.set_mode("cold");
  cell.set_device("gpu0");
  return cell;
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
  result.mutable_throughput()->set_roof_flops_ratio(0.5);
  result.mutable_throughput()->set_roof_bandwidth_ratio(0.5);
  result.mutable_device_time()->set_min(9e-4);
  result.mutable_device_time()->set_p99(2e-3);
  result.mutable_host_submit_time()->set_median(4e-6);
  result.mutable_telemetry()->set_energy_joules_per_launch(0.5);
  metrics.RecordResult(result);
  metrics.NoteCell(CellOf("cublas"), {.state = kbench::v1::SUSPECTED,
                                      .baseline_seconds = 9.5e-4,
                                      .change_ratio = 0.0526,
                                      .interval_seconds = 86'400,
                                      .pinned = true});
  metrics.StoreMayKeep("samples", 1 << 20);
  metrics.StoreKeeps({{"samples", 4096}});
  metrics.DeviceEnvironment("gpu0", true);
  metrics.CellDecided("gpu0", {.suspected = true});
  metrics.DeviceQuarantined("gpu0", "XID");
  metrics.SetScheduleSource([] {
    return std::vector<ScheduleState>{{.name = "nightly",
                                       .suite = "essay",
                                       .devices = {"cpu", "gpu0"},
                                       .next = 1'700'003'600,
                                       .last_ended = 1'699'990'000,
                                       .awaited = 1'699'980'000,
                                       .interval_seconds = 86'400,
                                       .skipped = 3},
                                      {.name = "paused", .suite = "smoke", .devices = {}}};
  });
  metrics.rpc_calls().Handled("/kbench.v1.JobService/GetJob", "NOT_FOUND", 0.002);
  metrics.SetLiveSource([] {
    LiveState live;
    live.waiting = {{"interactive", {2, 1, 1'700'000'000}}, {"ci", {}}, {"batch", {}}};
    live.queued_jobs = 1;
    live.next = {{"ana", "interactive", "matmul fp16 4096", "gpu"},
                 {"bob", "batch", "hold 30m", ""}};
    live.running = {{"gpu0", "ana", "ci", "sum fp32 64M steady", 1'700'000'100}};
    live.blocks["cpu"] = {"drain", "quarantine"};
    live.quarantines["cpu"] = "XID";
    live.devices.push_back(server::FakeDevice("cpu", "cpu"));
    // Flown, and too few yet to be held against.
    *live.devices.back().mutable_canary()->mutable_time() = ToTimestamp(1'600'000'000'000'000);
    kbench::v1::Device& gpu = live.devices.emplace_back(server::FakeDevice("gpu0", "cuda"));
    gpu.set_state("BUSY");
    gpu.mutable_canary()->set_ratio(1.01);
    gpu.mutable_canary()->set_count(6);
    gpu.mutable_canary()->set_bad_count(1);
    *gpu.mutable_canary()->mutable_time() = ToTimestamp(1'700'000'000'000'000);
    kbench::v1::ForeignProcess& foreign = *gpu.add_foreign();
    foreign.set_utilization(0.25);
    foreign.set_memory_bytes(1 << 30);
    gpu.mutable_totals()->set_energy_joules(1e6);
    (*gpu.mutable_totals()->mutable_throttle_seconds())["POWER_CAP"] = 12.5;
    kbench::v1::Telemetry& telemetry = *gpu.mutable_telemetry();
    telemetry.set_sm_clock_hertz(1e9);
    telemetry.set_memory_clock_hertz(1e9);
    telemetry.set_temperature_celsius(40);
    telemetry.set_power_watts(300);
    (*gpu.mutable_kept_bytes())["spool"] = 4096;
    kbench::v1::Calibration& calibration = *gpu.mutable_calibration();
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
    labels.erase("verdict");  // a state set's own
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
  EXPECT_THAT(metrics.Text(), HasSubstr("verdict=\"suspect\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("verdict=\"valid\"} 0\n"));
}

TEST(Metrics, WhatIsThoughtOfACellStandsBesideItsResult) {
  Metrics metrics("1.2.3");
  metrics.NoteCell(
      CellOf("cublas"),
      {.state = kbench::v1::CONFIRMED, .baseline_seconds = 0.002, .change_ratio = 0.25});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("kbench_result_regression_state{")))
      << "no result, no series";
  metrics.RecordResult(MakeResult("cublas", 0.0025));
  EXPECT_THAT(metrics.Text(), ::testing::ContainsRegex(
                                  "kbench_result_baseline_duration_seconds\\{[^}]*\\} 0.002\n"));
  EXPECT_THAT(metrics.Text(),
              ::testing::ContainsRegex("kbench_result_change_ratio\\{[^}]*\\} 0.25\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("state=\"confirmed\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("state=\"none\"} 0\n"));
  metrics.NoteCell(CellOf("cublas"), {});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("kbench_result_regression_state{")));
}

TEST(Metrics, PinnedAndScheduledCellsStay) {
  Metrics metrics("1.2.3", {.most_ad_hoc = 2, .most_kept = 2});
  metrics.NoteCell(CellOf("pinned"), {.pinned = true});
  for (const char* name : {"pinned", "a", "b", "c", "d"}) {
    metrics.RecordResult(MakeResult(name, 0.001));
  }
  const auto has = [&](const char* name) {
    return metrics.Text().find("implementation=\"" + std::string(name) + "\"") != std::string::npos;
  };
  EXPECT_TRUE(has("pinned") && has("c") && has("d"));
  EXPECT_FALSE(has("a") || has("b"));
  metrics.NoteCell(CellOf("c"), {.interval_seconds = 3600});
  metrics.RecordResult(MakeResult("e", 0.001));
  EXPECT_TRUE(has("c") && has("d") && has("e")) << "a scheduled one takes no ad-hoc place";
  metrics.NoteCell(CellOf("pinned"), {});
  EXPECT_TRUE(has("pinned")) << "the newest of the ad-hoc ones now";
  EXPECT_FALSE(has("d"));
}

TEST(Metrics, OddLabelsAreEscaped) {
  Metrics metrics("1.2.3");
  metrics.RecordResult(MakeResult("a\"b\\c\nd\xc3\xa9", 0.001));
  EXPECT_THAT(metrics.Text(), HasSubstr("implementation=\"a\\\"b\\\\c\\nd\xc3\xa9\""));
}

TEST(Metrics, OddTextsWhereverTheyComeFromKeepTheTextValid) {
  const std::string odd =
      std::string("a\"b\\c\nd\r\te\xc3\xa9\xf0\x9f\x98\x80 {x=\"1\"} 5\n#\0", 29);
  Metrics metrics(odd);
  kbench::v1::Result result = MakeResult(odd, 0.001);
  result.mutable_case_()->set_shape(odd);
  metrics.RecordResult(result);
  metrics.DeviceQuarantined("gpu0", odd);
  metrics.rpc_calls().Handled(odd, odd, 0.1);
  metrics.StoreKeeps({{odd, 1}});
  metrics.SetLiveSource([odd] {
    LiveState live;
    live.devices.push_back(server::FakeDevice("cpu", "cpu"));
    for (std::string* text : {live.devices[0].mutable_model(), live.devices[0].mutable_driver(),
                              live.devices[0].mutable_hostname()}) {
      *text = odd;
    }
    live.next = {{odd, "ci", odd, odd}};
    live.running = {{"cpu", odd, "ci", odd, 1}};
    return live;
  });
  metrics.SetScheduleSource([odd] {
    return std::vector<ScheduleState>{{.name = odd, .suite = odd, .devices = {odd}, .next = 1}};
  });
  const std::string text = metrics.Text();
  EXPECT_THAT(text, Not(HasSubstr("\n#\"")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.rfind("kbench_", 0) == 0 || line.rfind("# ", 0) == 0) << line;
  }
  if (!HavePromtool()) GTEST_SKIP() << "promtool is not installed (package prometheus)";
  EXPECT_TRUE(PromtoolIsSilent(text));
}

TEST(Metrics, AScrapeOfManyCellsIsQuick) {
  Metrics metrics("1.2.3", {.most_ad_hoc = 1500, .most_kept = 10});
  for (int i = 0; i < 1500; ++i) {
    metrics.RecordResult(MakeResult("family/" + std::to_string(i), 0.001));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = metrics.Text();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n') > 10'000, true);
  RecordProperty("scrape_milliseconds", std::to_string(1e3 * took.count()));
  std::printf("1,500 label sets: %.1f ms, %zu bytes\n", 1e3 * took.count(), text.size());
  EXPECT_LT(took.count(), 1.0)
      << "a tenth of it where nothing else runs; a debug build takes longer";
}

TEST(Metrics, LabelSetsAreBoundedAndTheOldestGoes) {
  Metrics metrics("1.2.3", {.most_ad_hoc = 3, .most_kept = 10});
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

TEST(Metrics, WhatIsKnownIsExported) {
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
        "kbench_device_canaries{device=\"gpu0\"} 7\n",
        "kbench_device_canaries_total{device=\"gpu0\"} 7\n",
        "kbench_device_bad_canaries_total{device=\"gpu0\"} 1\n",
        "kbench_device_throttle_seconds_total{device=\"gpu0\",reason=\"POWER_CAP\"} 12.5\n",
        "kbench_device_foreign_utilization_ratio{device=\"gpu0\"} 0.25\n",
        "kbench_device_blocked{device=\"cpu\",kind=\"drain\"} 1\n",
        "kbench_device_blocked{device=\"cpu\",kind=\"quarantine\"} 1\n",
        "kbench_device_quarantine_info{device=\"cpu\",reason=\"XID\"} 1\n",
        "kbench_device_canary_timestamp_seconds{device=\"cpu\"} 1600000000\n",
        "kbench_schedule_awaited_timestamp_seconds{schedule=\"nightly\"} 1699990000\n",
        "kbench_device_blocked{device=\"cpu\",kind=\"hold\"} 0\n",
        "kbench_device_blocked{device=\"gpu0\",kind=\"drain\"} 0\n",
        "kbench_queue_next_info{position=\"1\",owner=\"ana\",class=\"interactive\","
        "case=\"matmul fp16 4096\",selector=\"gpu\"} 1\n",
        "kbench_queue_next_info{position=\"2\",owner=\"bob\",class=\"batch\",case=\"hold 30m\","
        "selector=\"\"} 1\n",
        "kbench_device_running_info{device=\"gpu0\",owner=\"ana\",class=\"ci\","
        "case=\"sum fp32 64M steady\"} 1\n",
        "kbench_device_running_start_timestamp_seconds{device=\"gpu0\"} 1700000100\n",
        "kbench_epochs_total{device=\"gpu0\"} 1\n",
        "kbench_schedule_next_timestamp_seconds{schedule=\"nightly\"} 1700003600\n",
        "kbench_schedule_last_timestamp_seconds{schedule=\"nightly\"} 1699990000\n",
        "kbench_schedule_interval_seconds{schedule=\"nightly\"} 86400\n",
        "kbench_schedule_skipped_total{schedule=\"nightly\"} 3\n",
        "kbench_schedule_skipped_total{schedule=\"paused\"} 0\n",
        "kbench_schedule_info{schedule=\"nightly\",suite=\"essay\",device=\"gpu0\"} 1\n",
        "kbench_queue_oldest_job_timestamp_seconds{class=\"interactive\"} 1700000000\n",
        "kbench_grpc_server_handled_total{code=\"NOT_FOUND\",method=\"JobService/GetJob\"} 1\n",
        "kbench_store_cap_bytes{kind=\"samples\"} 1048576\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr("kbench_device_state{device=\"gpu0\",state=\"CALIBRATING\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("kbench_schedule_next_timestamp_seconds{schedule=\"paused\"")));
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
  if (!HavePromtool()) {
    GTEST_SKIP() << "promtool is not installed (package prometheus): only our own rules were tried";
  }
  EXPECT_TRUE(PromtoolIsSilent(text));
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

TEST(Metrics, HealthAndReadinessStandBesideThem) {
  Metrics metrics("1");
  std::string why = "the coordinator cannot write to its store";
  const auto address = metrics.Serve("127.0.0.1:0", [&] { return why; });
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_THAT(HttpAnswer(*address, "/-/healthy"), HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(HttpAnswer(*address, "/-/ready"), HasSubstr("HTTP/1.1 503 "));
  EXPECT_THAT(HttpAnswer(*address, "/-/ready"), HasSubstr("cannot write to its store"));
  why.clear();
  EXPECT_THAT(HttpAnswer(*address, "/-/ready"), HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(HttpAnswer(*address, "/etc/passwd"), HasSubstr(" 404 "));
  metrics.Stop();
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
  EXPECT_THAT(text, HasSubstr("kbench_queue_cases{class=\"interactive\"} 0"));
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
