#include "client/commands/on_devices.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "client/commands/await.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/follow.h"
#include "client/output/on_table.h"
#include "client/output/progress.h"
#include "client/output/text_table.h"
#include "client/output/words.h"
#include "client/submission.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"
#include "proto/support/mutex.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::JobEvent;
using kbench::v1::JobSpec;

// One job: a spec on a device.
struct Lane {
  std::size_t spec = 0;
  std::size_t device = 0;
  std::string job;
  Interrupt interrupt;  // fired with the process's own
  FollowResult result;
  std::string progress;
};

absl::Status OnError(const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message,
                   {.reason = "BAD_DEVICES", .metadata = {}, .violations = {{"on", message}}});
}

// What all lanes write to, under one lock.
class Together {
 public:
  Together(Io& io, const std::vector<std::string>& devices, Format format)
      : io_(io),
        devices_(devices),
        format_(format),
        progress_(io),
        report_(format == Format::kCsv || format == Format::kMarkdown ? MakeReport(format, io)
                                                                      : nullptr) {}

  void Event(const JobEvent& event, Lane& lane, const JobView& view) {
    MutexLock lock(mutex_);
    if (format_ == Format::kJson && !event.has_ping()) WriteEvent(event, lane);
    lane.progress = ProgressText(view);
    std::string all;
    for (const Lane* one : lanes_) {
      if (one->progress.empty()) continue;
      all += (all.empty() ? "" : " | ") + devices_[one->device] + ": " + one->progress;
    }
    progress_.Show(all);
  }

  void CaseEnded(const Job& job, const CaseStatus& status, const Lane& lane) {
    MutexLock lock(mutex_);
    progress_.Erase();
    if (format_ == Format::kJson) {
      for (const auto& result : status.results()) WriteLine("result", result, lane);
    } else if (report_ != nullptr) {
      report_->CaseEnded(job, status);
    } else {
      Collect(job, status, lane);
    }
  }

  void Reconnecting() {
    MutexLock lock(mutex_);
    progress_.Show("the coordinator is away: reconnecting ...");
  }

  void Add(const Lane* lane) { lanes_.push_back(lane); }  // before any thread starts

  // What is left when all lanes have ended: cases that did not end everywhere, and the footer.
  void Finish() {
    MutexLock lock(mutex_);
    progress_.Erase();
    if (format_ != Format::kTable) return;
    for (const auto& [key, columns] : waiting_) Print(columns);
    if (!first_) io_.out << "\n" << OnFooter(devices_);
    io_.out.flush();
  }

 private:
  using CaseKey = std::pair<std::size_t, int>;  // spec, case

  void Collect(const Job& job, const CaseStatus& status, const Lane& lane)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const CaseKey key{lane.spec, status.index()};
    auto& columns = waiting_[key];
    columns[lane.device] = {devices_[lane.device], status, ToMicros(job.create_time())};
    if (columns.size() < devices_.size()) return;
    Print(columns);
    waiting_.erase(key);
  }

  void Print(const std::map<std::size_t, OnColumn>& by_device)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<OnColumn> columns;
    for (const auto& [device, column] : by_device) columns.push_back(column);
    io_.out << (first_ ? "" : "\n") << OnTableText(columns) << std::flush;
    first_ = false;
  }

  void WriteEvent(const JobEvent& event, const Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    JobEvent slim = event;  // results stand in lines of their own
    if (slim.has_case_changed()) slim.mutable_case_changed()->clear_results();
    Job* job = slim.has_snapshot() ? slim.mutable_snapshot()
               : slim.has_final()  ? slim.mutable_final()
                                   : nullptr;
    if (job != nullptr) {
      for (CaseStatus& status : *job->mutable_cases()) status.clear_results();
    }
    WriteLine("event", slim, lane);
  }

  void WriteLine(const std::string& key, const google::protobuf::Message& message, const Lane& lane)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    google::protobuf::Value device;
    device.set_string_value(devices_[lane.device]);
    io_.out << "{\"" << key << "\":" << ToJsonLine(message) << ",\"device\":" << ToJsonLine(device)
            << "}" << std::endl;
  }

  Io& io_;
  const std::vector<std::string>& devices_;
  const Format format_;
  std::vector<const Lane*> lanes_;
  Mutex mutex_;
  ProgressLine progress_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<Report> report_;
  std::map<CaseKey, std::map<std::size_t, OnColumn>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool first_ ABSL_GUARDED_BY(mutex_) = true;
};

class LaneObserver final : public JobObserver {
 public:
  LaneObserver(Together& together, Lane& lane) : together_(together), lane_(lane) {}
  void OnEvent(const JobEvent& event, const JobView& view) override {
    together_.Event(event, lane_, view);
  }
  void OnCaseEnded(const Job& job, const CaseStatus& status) override {
    together_.CaseEnded(job, status, lane_);
  }
  void OnReconnecting() override { together_.Reconnecting(); }

 private:
  Together& together_;
  Lane& lane_;
};

void FollowTogether(Context& context, const Backend& backend, Together& together,
                    std::deque<Lane>& lanes) {
  for (Lane& lane : lanes) together.Add(&lane);
  const Interrupt::Hook hook(context.interrupt, [&lanes] {
    for (Lane& lane : lanes) lane.interrupt.Fire();
  });
  if (context.interrupt.fired()) {
    for (Lane& lane : lanes) lane.interrupt.Fire();
  }
  std::vector<std::thread> threads;
  for (Lane& lane : lanes) {
    threads.emplace_back([&backend, &together, &lane] {
      LaneObserver observer(together, lane);
      lane.result = Follow(backend, lane.job, {}, lane.interrupt, observer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  together.Finish();
}

JobSpec WithDevice(JobSpec spec, const std::string& device) {
  spec.set_device(device);
  return spec;
}

// False: a job was not taken; the code says why. What was taken before goes on.
bool SubmitAll(Context& context, const Backend& backend, const std::vector<JobSpec>& specs,
               const std::vector<std::string>& devices, std::deque<Lane>& lanes, int& code) {
  for (const JobSpec& spec : specs) {
    for (const std::string& device : devices) {
      const auto taken = ValidateSpec(backend, WithDevice(spec, device));
      if (taken.ok()) continue;
      code = ReportError(context.io, taken.status());
      return false;
    }
  }
  for (std::size_t spec = 0; spec < specs.size(); ++spec) {
    for (std::size_t device = 0; device < devices.size(); ++device) {
      const auto job = SubmitSpec(backend, WithDevice(specs[spec], devices[device]), "");
      if (!job.ok()) {
        code = ReportError(context.io, job.status());
        return false;
      }
      Lane& lane = lanes.emplace_back();
      lane.spec = spec;
      lane.device = device;
      lane.job = job->name();
    }
  }
  return true;
}

void PrintNames(Io& io, const std::deque<Lane>& lanes, const std::vector<std::string>& devices,
                const std::string& format) {
  for (const Lane& lane : lanes) {
    const std::string& device = devices[lane.device];
    if (format == "json") {
      Job job;
      job.set_name(lane.job);
      job.mutable_spec()->set_device(device);
      io.out << "{\"job\":" << ToJsonLine(job) << "}\n";
      continue;
    }
    io.out << JobId(lane.job) << "\n";
    io.err << fmt::format("{}: watch it with: kbench-client watch {}\n", Plain(device),
                          JobId(lane.job));
  }
  io.out.flush();
}

// What a person must hear of a job beside its rows; its code.
int Conclude(Io& io, const Lane& lane, const std::string& device) {
  const std::string id = JobId(lane.job);
  if (lane.result.interrupted) {
    io.err << fmt::format("{}: job {} goes on; resume with: kbench-client watch {}\n",
                          Plain(device), id, id)
           << std::flush;
    return kExitInterrupted;
  }
  if (!lane.result.status.ok()) {
    const int code = ReportError(io, lane.result.status);
    io.err << fmt::format(
        "kbench-client: {}: job {} is kept; resume with: kbench-client watch {}\n", Plain(device),
        id, id);
    return code;
  }
  const Job& job = lane.result.job;
  if (job.state() != kbench::v1::JOB_STATE_SUCCEEDED) {
    const std::string& why = job.message().empty() ? job.reason() : job.message();
    io.err << fmt::format("kbench-client: {}: job {} ended {}{}\n", Plain(device), id,
                          StateWord(job.state()), why.empty() ? "" : ": " + Plain(why));
  }
  return ExitCodeOf(job);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseOn(const std::string& text) {
  const std::vector<std::string> devices = SplitList(text);
  if (devices.size() < 2) {
    return OnError(
        fmt::format("'{}' names no two devices; write --on gpu0,gpu1, or --device NAME "
                    "for one",
                    text));
  }
  if (devices.size() > kMostOnDevices) {
    return OnError(fmt::format("{} devices are too many side by side: at most {}", devices.size(),
                               kMostOnDevices));
  }
  if (std::set<std::string>(devices.begin(), devices.end()).size() < devices.size()) {
    return OnError("'" + text + "' names a device twice");
  }
  return devices;
}

OnOutcome RunOnDevices(Context& context, const Backend& backend, const std::vector<JobSpec>& specs,
                       const std::vector<std::string>& devices, const std::string& format,
                       bool detach) {
  OnOutcome outcome;
  std::deque<Lane> lanes;  // an Interrupt does not move
  const bool all = SubmitAll(context, backend, specs, devices, lanes, outcome.code);
  if (detach || lanes.empty()) {
    PrintNames(context.io, lanes, devices, format);
    return outcome;
  }
  Together together(context.io, devices, ParseFormat(format));
  FollowTogether(context, backend, together, lanes);
  bool interrupted = false;
  for (const Lane& lane : lanes) {
    const int code = Conclude(context.io, lane, devices[lane.device]);
    interrupted = interrupted || code == kExitInterrupted;
    // Codes that are no outcome of a job (try again, say) count only where all else is well.
    if (all) outcome.code = outcome.code == kExitOk ? code : WorseExitCode(outcome.code, code);
    if (lane.result.status.ok() && !lane.result.interrupted) {
      outcome.ended.emplace_back(devices[lane.device], lane.result.job);
    }
  }
  if (interrupted) outcome.code = kExitInterrupted;
  return outcome;
}

}  // namespace kbench::client
