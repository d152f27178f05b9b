// A scripted runner for the tests of the worker: speaks the frame protocol with invented numbers,
// and misbehaves as the name of the implementation says. Kernel "matmul", and "sum" by cpu/naive;
// device kind "cpu".
//   --mute: never answers the hello. --kind KIND: announces another device kind.
//   --calibration pass|fail|crash|hang|refuse: what becomes of the request to calibrate.
//   --burst-seconds S: bursts take so long, --sum-burst-seconds S: those of kernel sum.
//   --late-until S: the third burst of fake/late-burst ends S seconds after its prepare.
//   --sum-factor FILE: kernel sum takes that many times as long as usual; "wrong": it computes
//   wrongly.
//   --wrong-matmul: so does kernel matmul.
//   --log FILE: one line a request, with the process.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "kbench/v1/runner.pb.h"
#include "proto/support/json.h"

namespace kbench {
namespace {

const char* const kNames[] = {
    "fake/fast", "fake/half", "fake/noisy", "fake/slow", "fake/crash-prepare", "fake/crash",
    "fake/exit", "fake/hang", "fake/hang-prepare", "fake/bad-frame", "fake/huge-frame",
    "fake/nan-frame", "fake/wrong-id", "fake/wrong-kind", "fake/wrong", "fake/wrong-after",
    "fake/flood", "fake/oom", "fake/oom-if-shared", "fake/too-slow", "fake/negative", "fake/empty",
    "fake/drift", "fake/stolen", "fake/stolen-at-first", "fake/exclusive-a", "fake/slow-check",
    "fake/synchronizes", "fake/late-burst", "fake/exclusive-b", "fake/fatal", "fake/unsupported",
    "fake/close", "fake/late-half-frame", "fake/tuned", "fake/tuned-badly", "fake/tuned-wrong",
    "fake/unsupported-too", "fake/coded", "fake/coded-too", "fake/coded-anew", "fake/crash-collect",
    "fake/settles",
    // Sound, under names that the catalog knows as baselines of matmul.
    "cpu/openblas", "cpu/naive"};

class FakeRunner {
 public:
  struct Options {
    std::string kind = "cpu";
    std::string calibration = "pass";
    double burst_seconds = 0;
    double sum_burst_seconds = 0;
    double late_until = 0;
    std::string sum_factor;
    bool wrong_matmul = false;
    std::string log;
  };
  explicit FakeRunner(Options options) : kind_(options.kind), options_(std::move(options)) {}

  int Run() {
    std::string line;
    char c = 0;
    while (read(3, &c, 1) == 1) {
      if (c != '\n') {
        line += c;
        continue;
      }
      v1::RunnerRequest request;
      if (!FromFrame(line, &request).ok()) return 9;
      line.clear();
      Answer(request);
    }
    return 0;
  }

 private:
  bool Is(const char* name) const { return name_ == std::string("fake/") + name; }
  static void Hang() { std::this_thread::sleep_for(std::chrono::hours(1)); }
  static void Raw(const std::string& bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = write(4, bytes.data() + done, bytes.size() - done);
      if (count <= 0) _exit(8);
      done += static_cast<std::size_t>(count);
    }
  }
  static void Send(v1::RunnerReply reply, std::uint64_t id) {
    reply.set_id(id);
    Raw(*ToFrame(reply) + "\n");
  }

  void Answer(const v1::RunnerRequest& request) {
    if (!options_.log.empty()) {
      std::ofstream(options_.log, std::ios::app) << getpid() << " " << *ToFrame(request) << "\n";
    }
    v1::RunnerReply reply;
    switch (request.request_case()) {
      case v1::RunnerRequest::kCalibrate:
        Calibrate(&reply);
        break;
      case v1::RunnerRequest::kHello:
        Hello(reply.mutable_hello());
        break;
      case v1::RunnerRequest::kPrepare:
        Prepare(request.prepare(), &reply);
        break;
      case v1::RunnerRequest::kVerify:
        Verify(request.verify(), reply.mutable_verified());
        break;
      case v1::RunnerRequest::kWarm:
        Warm(&reply);
        break;
      case v1::RunnerRequest::kBurst:
        if (!Burst(request, &reply)) return;
        break;
      case v1::RunnerRequest::kTune:
        Tune(&reply);
        break;
      case v1::RunnerRequest::kFinish:
        reply.mutable_finished();
        resident_.clear();
        break;
      case v1::RunnerRequest::kCollectCode:
        Collect(request.collect_code(), reply.mutable_code_collected());
        break;
      case v1::RunnerRequest::kProfileLaunch:
        reply.mutable_launch_profiled();
        break;
      case v1::RunnerRequest::kWitness:
        reply.mutable_witnessed()->set_seconds(1e-3 * request.witness().launches());
        break;
      case v1::RunnerRequest::REQUEST_NOT_SET:
        return;
    }
    Send(reply, request.id());
  }

  void Hello(v1::RunnerHelloReply* hello) const {
    hello->set_protocol_version(1);
    hello->set_runner("fake-runner");
    hello->set_engine_version("fake-1");
    hello->set_device_kind(kind_);
    (*hello->mutable_libraries())["fakelib"] = "1.2";
    for (const char* name : kNames) {
      auto& info = *hello->add_implementations();
      info.set_name(name);
      info.set_family("fake");
      info.set_kernel("matmul");
      info.add_dtypes("fp32");
    }
    auto& sum = *hello->add_implementations();
    sum.set_name("cpu/naive");
    sum.set_family("cpu");
    sum.set_kernel("sum");
    sum.add_dtypes("fp32");
  }

  void Calibrate(v1::RunnerReply* reply) const {
    if (options_.calibration == "crash") raise(SIGABRT);
    if (options_.calibration == "hang") Hang();
    if (options_.calibration == "refuse") return Fail(reply, v1::OUTCOME_INFRA, "NO_DEVICE");
    v1::Calibration& calibration = *reply->mutable_calibrated()->mutable_calibration();
    calibration.set_passed(options_.calibration == "pass");
    calibration.set_event_floor_seconds(1.28e-6);
    calibration.set_null_kernel_seconds(3.3e-6);
    calibration.set_quantum_seconds(3.2e-8);
    calibration.set_flush_bytes(96 << 20);
    calibration.set_read_bandwidth(4.2e12);
    if (calibration.passed()) return;
    calibration.set_failed_step("known-durations");
    calibration.set_message("a kernel of 5 us was measured as 9 us");
  }

  static void Fail(v1::RunnerReply* reply, v1::Outcome outcome, const char* reason) {
    reply->mutable_failure()->set_outcome(outcome);
    reply->mutable_failure()->set_reason(reason);
    reply->mutable_failure()->set_message(std::string("scripted ") + reason);
  }

  void Prepare(const v1::Prepare& prepare, v1::RunnerReply* reply) {
    name_ = prepare.implementation();
    kernel_ = prepare.case_().kernel();
    size_ = prepare.case_().size();
    prepared_ = std::chrono::steady_clock::now();
    // SIGABRT, because sanitizers turn a SIGSEGV into an exit.
    if (Is("crash-prepare")) raise(SIGABRT);
    if (Is("hang-prepare")) Hang();
    if (Is("oom")) return Fail(reply, v1::OUTCOME_OUT_OF_MEMORY, "DEVICE_MEMORY");
    if (Is("unsupported") || Is("unsupported-too"))
      return Fail(reply, v1::OUTCOME_UNSUPPORTED, "NO_LAYOUT");
    // As on a device in exclusive mode: one living process holds it.
    if (name_.rfind("fake/exclusive", 0) == 0 && !HoldDevice(prepare.reference_dir())) {
      return Fail(reply, v1::OUTCOME_INFRA, "DEVICE_IN_USE");
    }
    // Runners may be prepared at the same time.
    if (Is("oom-if-shared")) WaitForOthers(prepare.reference_dir());
    // Another resident cell of the case has left its mark in the shared folder.
    const std::string mark = prepare.reference_dir() + "/resident-" + std::to_string(getpid());
    if (Is("oom-if-shared") && OthersIn(prepare.reference_dir())) {
      return Fail(reply, v1::OUTCOME_OUT_OF_MEMORY, "DEVICE_MEMORY");
    }
    const double estimate = Is("too-slow") ? 100 : Is("slow") ? 0.35 : 1e-3;
    if (estimate > prepare.launch_limit_seconds()) {
      Fail(reply, v1::OUTCOME_SKIPPED, "OVER_BUDGET");
      reply->mutable_failure()->set_estimate_seconds(estimate);
      return;
    }
    std::ofstream(mark) << "x";
    resident_.Set(mark);
    auto* prepared = reply->mutable_prepared();
    prepared->set_first_call_seconds(0.002);
    prepared->set_estimate_seconds(estimate);
    prepared->set_mechanism("fake-clock");
    prepared->set_clock_quantum_seconds(1e-9);
    prepared->set_launches_per_sample(1);
    prepared->set_operand_sets(1);
    (*prepared->mutable_configuration())["tile"] = "64";
    (*prepared->mutable_settings())["threads"] = "2";
    if (name_.rfind("fake/tuned", 0) == 0) {
      const bool known = prepare.candidate() == "b";
      SetCandidate(known ? "b" : "a", known ? "cached" : "default", prepared);
    }
    rounds_ = 0;
    std::printf("prepared %s\n", Is("flood") ? "flood" : "");
    std::fflush(stdout);
  }

  static void SetCandidate(const char* candidate, const char* tuned, v1::Prepared* prepared) {
    prepared->set_candidate(candidate);
    prepared->set_candidates(2);
    prepared->set_tuned(tuned);
    (*prepared->mutable_configuration())["candidate"] = candidate;
    (*prepared->mutable_configuration())["tuned"] = tuned;
  }

  void Tune(v1::RunnerReply* reply) const {
    if (Is("tuned-badly")) raise(SIGABRT);
    v1::Prepared* const tuned = reply->mutable_tuned();
    tuned->set_estimate_seconds(1e-3);
    tuned->set_mechanism("fake-clock");
    tuned->set_clock_quantum_seconds(1e-9);
    tuned->set_autotune_seconds(0.25);
    SetCandidate("b", "measured", tuned);
  }

  // Code of one function, the same for fake/coded and fake/coded-too; that of fake/coded-anew is
  // another one for each size.
  void Collect(const v1::CollectCode& request, v1::CodeCollected* collected) const {
    if (Is("crash-collect")) raise(SIGABRT);
    if (name_.rfind("fake/coded", 0) != 0) return;
    collected->add_functions("_Z4Fakev");
    if (Is("coded-anew")) collected->set_digest("of " + size_);
    if (request.directory().empty()) return;
    for (const char* kind : {"cubin", "ptx"}) {
      v1::CodeFile& file = *collected->add_files();
      file.set_name(std::string("code.") + kind);
      file.set_kind(kind);
      file.set_architecture(request.architecture() + "a");
      file.add_functions("_Z4Fakev");
      std::ofstream(request.directory() + "/" + file.name()) << "bytes of the " << kind;
    }
    collected->set_message("scripted: not all");
  }

  static bool HoldDevice(const std::string& dir) {
    // Until the process ends: the descriptor is never closed.
    const int fd = open((dir + "/../device.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  }

  static void WaitForOthers(const std::string& dir) {
    for (int i = 0; i < 20 && !OthersIn(dir); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  static bool OthersIn(const std::string& dir) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
      if (entry.path().filename().string().rfind("resident-", 0) == 0) return true;
    }
    return false;
  }

  void Verify(const v1::Verify& verify, v1::Verified* verified) {
    if ((Is("slow") || Is("slow-check")) && verify.stage() != v1::Verify::AFTER) {
      std::this_thread::sleep_for(std::chrono::milliseconds(350));
    }
    const bool wrong = kernel_ == "sum" ? SumFactor() == "wrong" : options_.wrong_matmul;
    verified->set_passed(!wrong && !Is("wrong") && !Is("tuned-wrong") &&
                         !(Is("wrong-after") && verify.stage() == v1::Verify::AFTER));
    verified->set_relative_error(verified->passed() ? 1e-7 : 0.5);
    verified->set_tolerance(1e-5);
    verified->set_method("full");
    if (!verified->passed()) verified->set_reason("TOLERANCE");
  }

  void Warm(v1::RunnerReply* reply) const {
    if (Is("synchronizes")) {  // as the engine does: it holds the queue for two seconds
      std::this_thread::sleep_for(std::chrono::milliseconds(2100));
      return Fail(reply, v1::OUTCOME_TIMED_OUT, "BLOCKER_TIMEOUT");
    }
    v1::Warmed* const warmed = reply->mutable_warmed();
    warmed->set_sample_seconds(1e-3);
    warmed->set_pace_seconds(1e-3);
    warmed->add_end_to_end_calls(1.1e-3);
    warmed->set_steady(true);
  }

  // False: nothing is to be sent any more.
  bool Burst(const v1::RunnerRequest& request, v1::RunnerReply* reply) {
    if (Is("crash")) raise(SIGABRT);
    if (Is("exit")) _exit(3);
    if (Is("hang")) Hang();
    if (Is("close")) {
      close(4);
      Hang();
    }
    if (Is("bad-frame")) return Raw("{\"id\": oops\n"), false;
    if (Is("late-half-frame")) return Raw("{\"id\":\"4\","), Hang(), false;
    if (Is("huge-frame")) return Raw(std::string(3 << 20, 'x')), false;
    if (Is("nan-frame")) {
      return Raw("{\"id\":\"" + std::to_string(request.id()) +
                 "\",\"burst\":{\"deviceSeconds\":[\"NaN\"]}}\n"),
             false;
    }
    if (Is("wrong-kind")) return reply->mutable_finished(), true;
    if (Is("fatal")) {
      Fail(reply, v1::OUTCOME_CRASHED, "DEVICE_FAULT");
      reply->mutable_failure()->set_fatal(true);
      return true;
    }
    if (Is("flood")) Flood();
    FillBurst(request.burst(), reply->mutable_burst());
    if (Is("wrong-id")) return Send(*reply, request.id() + 7), false;
    return true;
  }

  static void Flood() {
    const std::string line(1023, 'e');
    for (int i = 0; i < 400; ++i) std::fprintf(stderr, "%s\n", line.c_str());
  }

  void FillBurst(const v1::Burst& burst, v1::BurstDone* done) {
    const int samples = burst.samples();
    using Seconds = std::chrono::duration<double>;
    const double seconds = kernel_ == "sum" ? options_.sum_burst_seconds : options_.burst_seconds;
    if (seconds > 0) std::this_thread::sleep_for(Seconds(seconds));
    if (Is("late-burst") && rounds_ == 2) {
      std::this_thread::sleep_until(prepared_ + Seconds(options_.late_until));
    }
    if (Is("slow")) std::this_thread::sleep_for(std::chrono::milliseconds(350));
    for (int i = 0; i < samples && !Is("empty"); ++i) done->add_device_seconds(Sample(i));
    done->set_discarded(Is("empty") ? samples : 0);
    done->set_seconds(1e-3 * samples);
    done->set_duty_ratio(0.4);
    if (Is("stolen") || (Is("stolen-at-first") && rounds_ < 3)) done->add_flags("STOLEN");
    ++rounds_;
  }

  double Sample(int i) const {
    if (Is("negative")) return -1;
    if (Is("slow")) return 0.35;
    const double ripple = 1 + 1e-4 * ((i * 7 + rounds_ * 3) % 11);
    if (Is("noisy"))
      return 1e-3 * (1 + 0.3 * ((i * 5 + rounds_ * 7) % 13) / 13.0 + 0.2 * ((rounds_ * 5) % 8));
    if (Is("settles") && i < 100) return 1.2e-3 * ripple;  // in each visit anew
    if (Is("drift")) return 1e-3 * ripple * (1 + 0.05 * std::min(rounds_, 8));
    const double factor = kernel_ == "sum" ? std::atof(SumFactor().c_str()) : 1;
    return (Is("half") ? 2e-3 : 1e-3) * ripple * (factor > 0 ? factor : 1);
  }

  std::string SumFactor() const {
    std::string word;
    if (!options_.sum_factor.empty()) std::ifstream(options_.sum_factor) >> word;
    return word;
  }

  // A file that goes with its owner.
  struct Mark {
    std::string path;
    void Set(const std::string& p) { path = p; }
    void clear() {
      if (!path.empty()) unlink(path.c_str());
      path.clear();
    }
  };

  const std::string kind_;
  const Options options_;
  std::string name_;
  std::string kernel_;
  std::string size_;
  std::chrono::steady_clock::time_point prepared_;
  int rounds_ = 0;
  Mark resident_;
};

}  // namespace
}  // namespace kbench

int main(int argc, char** argv) {
  kbench::FakeRunner::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--mute") sleep(3600);
    if (argument == "--kind") options.kind = value;
    if (argument == "--calibration") options.calibration = value;
    if (argument == "--burst-seconds") options.burst_seconds = std::atof(value.c_str());
    if (argument == "--sum-burst-seconds") options.sum_burst_seconds = std::atof(value.c_str());
    if (argument == "--late-until") options.late_until = std::atof(value.c_str());
    if (argument == "--sum-factor") options.sum_factor = value;
    if (argument == "--wrong-matmul") options.wrong_matmul = true;
    if (argument == "--log") options.log = value;
  }
  return kbench::FakeRunner(options).Run();
}
