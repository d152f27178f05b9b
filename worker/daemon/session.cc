#include "worker/daemon/session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "proto/support/channel.h"
#include "proto/support/clock.h"
#include "proto/support/rpc_status.h"
#include "spdlog/spdlog.h"

namespace kbench {
namespace {

constexpr int kMostForeign = 64;  // of the processes in a heartbeat

double Now() { return SystemClock().SteadySeconds(); }

bool Displaced(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::ALREADY_EXISTS ||
         status.error_code() == grpc::StatusCode::ABORTED;
}

bool RefusedUs(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
}

}  // namespace

Session::Session(Options options, Attempts* attempts, DeviceMonitor* monitor,
                 DeviceCondition* condition)
    : options_(std::move(options)),
      attempts_(attempts),
      monitor_(monitor),
      condition_(condition),
      kept_(options_.kept) {
  attempts_->OnChange([this] {
    MutexLock lock(mutex_);
    signalled_ = true;
    wake_.NotifyAll();
  });
}

Session::~Session() { attempts_->OnChange(nullptr); }

void Session::Drain() {
  attempts_->StopTaking();
  MutexLock lock(mutex_);
  draining_ = true;
  signalled_ = true;
  wake_.NotifyAll();
}

void Session::Shutdown() {
  attempts_->Drain();
  MutexLock lock(mutex_);
  draining_ = true;
  if (!stopping_) stop_at_ = Now() + options_.goodbye_seconds;
  stopping_ = true;
  signalled_ = true;
  wake_.NotifyAll();
}

bool Session::SleepUnlessStopping(double seconds) {
  const double end = Now() + seconds;
  MutexLock lock(mutex_);
  while (!stopping_ && Now() < end) wake_.WaitFor(mutex_, end - Now());
  return !stopping_;
}

absl::Status Session::Run() {
  double retry = options_.first_retry_seconds;
  std::string last_error;
  while (true) {
    bool welcomed = false;
    const grpc::Status status = Connect(&welcomed);
    {
      MutexLock lock(mutex_);
      if (stopping_) return absl::OkStatus();
    }
    if (Displaced(status)) return FromGrpc(status);
    if (welcomed) {
      retry = options_.first_retry_seconds;
      last_error.clear();
    }
    // One line for each new trouble, not one a try.
    const std::string error = status.ok() ? "it ended the session" : status.error_message();
    if (error != last_error) {
      const absl::Status connection = ExplainConnection(error, options_.address);
      if (RefusedUs(status)) {
        spdlog::error("the coordinator at {} refuses this worker: {}: trying on", options_.address,
                      error);
      } else {
        spdlog::warn("no coordinator at {} ({}): trying on", options_.address,
                     connection.ok() ? error : std::string(connection.message()));
      }
    }
    last_error = error;
    if (!SleepUnlessStopping(retry)) return absl::OkStatus();
    retry = std::min(2 * retry, options_.last_retry_seconds);
  }
}

grpc::Status Session::Connect(bool* welcomed) {
  const auto channel = options_.connect();
  const auto stub = v1::WorkerService::NewStub(channel);
  grpc::ClientContext context;
  {
    MutexLock lock(mutex_);
    broken_ = false;
    welcomed_ = false;
    was_busy_ = false;
    told_draining_ = false;
    was_holding_ = false;
  }
  const auto stream = stub->Connect(&context);
  std::thread reader;
  if (stream->Write(MakeHello())) {
    reader = std::thread([this, raw = stream.get()] { ReadLoop(raw); });
    WriteLoop(stream.get());
    // The reader may be blocked for ever otherwise. Not before it had the chance to see the end of
    // the stream: cancelling would hide the coordinator's reason.
    if (!WaitForEnd()) context.TryCancel();
    reader.join();
  }
  const grpc::Status status = stream->Finish();
  MutexLock lock(mutex_);
  *welcomed = welcomed_;
  return status;
}

void Session::ReadLoop(Stream* stream) {
  v1::CoordinatorMessage message;
  while (stream->Read(&message)) Handle(message);
  MutexLock lock(mutex_);
  broken_ = true;
  wake_.NotifyAll();
}

bool Session::WaitForEnd() {
  constexpr double kPatience = 2;
  const double end = Now() + kPatience;
  MutexLock lock(mutex_);
  while (!broken_ && !stopping_ && Now() < end) wake_.WaitFor(mutex_, end - Now());
  return broken_;
}

bool Session::WaitForWork(double* next_heartbeat) {
  const bool idle = attempts_->idle();
  MutexLock lock(mutex_);
  while (!broken_) {
    const double now = Now();
    if (stopping_ && (idle || now >= stop_at_ || !welcomed_)) return false;
    if (welcomed_ && (signalled_ || now >= *next_heartbeat)) {
      signalled_ = false;
      return true;
    }
    double wait = welcomed_ ? *next_heartbeat - now : 3600;
    if (stopping_) wait = std::min(wait, stop_at_ - now);
    wake_.WaitFor(mutex_, std::max(wait, 1e-3));
  }
  return false;
}

void Session::WriteLoop(Stream* stream) {
  double next_heartbeat = 0;  // the first one right after the welcome
  while (WaitForWork(&next_heartbeat)) {
    while (auto message = attempts_->NextMessage()) {
      if (!stream->Write(*message)) return;
    }
    const bool busy = attempts_->busy();
    const bool holding = attempts_->holding();
    bool changed = false;
    double interval = 5;
    {
      MutexLock lock(mutex_);
      changed = busy != was_busy_ || holding != was_holding_ || stopping_ ||
                (draining_ && !told_draining_);
      was_busy_ = busy;
      was_holding_ = holding;
      interval = heartbeat_seconds_;
    }
    const DeviceCondition::Snapshot condition = condition_->Get();
    changed =
        changed || condition.version != told_version_ || condition.offer_version != told_offer_;
    // Also when the worker has become free, or is calibrated: the next case need not wait for the
    // next heartbeat.
    if (!changed && Now() < next_heartbeat) continue;
    next_heartbeat = Now() + interval;
    if (!stream->Write(MakeHeartbeat())) return;
  }
}

std::string Session::DeviceState(const DeviceCondition::Snapshot& condition) const {
  if (condition.state == "OFFLINE") return condition.state;
  if (!attempts_->device().ok()) return "WEDGED";
  if (condition.state != "READY") return condition.state;
  if (attempts_->holding()) return "HELD";
  return attempts_->busy() ? "BUSY" : "READY";
}

void Session::LookAtDevice() {
  const std::vector<ObservedFault> faults = monitor_->NewFaults();
  for (const ObservedFault& fault : faults) condition_->AddFault(fault.kind, fault.message);
  if (!faults.empty()) attempts_->Reconsider();
  std::string mismatch;
  const DriverState state = monitor_->Driver(&mismatch);
  const bool was = std::exchange(mismatch_, state == DriverState::kMismatch);
  if (mismatch_ && !was) spdlog::error("{}", mismatch);
  condition_->SetMismatch(mismatch_ ? mismatch : "");
  start_again_ = start_again_ || state == DriverState::kStale || (was && !mismatch_);
  // The running case has its runners and ends well.
  if (!start_again_ || asked_ || mismatch_ || attempts_->busy()) return;
  asked_ = true;
  if (options_.start_again) options_.start_again();
}

v1::WorkerMessage Session::MakeHello() {
  LookAtDevice();
  v1::WorkerMessage message;
  *message.mutable_hello() = options_.hello;
  for (const auto& held : attempts_->Held()) *message.mutable_hello()->add_held() = held;
  v1::Device& device = *message.mutable_hello()->mutable_device();
  const DeviceCondition::Snapshot condition = condition_->Get();
  device.set_state(DeviceState(condition));
  device.set_state_message(condition.message);
  device.set_state_reason(condition.reason);
  if (condition.version > 0) *device.mutable_calibration() = condition.calibration;
  told_version_ = condition.version;
  if (condition.offer_version > 0) {
    *device.mutable_implementations() = condition.offer.implementations();
    *device.mutable_absent() = condition.offer.absent();
  }
  told_offer_ = condition.offer_version;
  return message;
}

v1::WorkerMessage Session::MakeHeartbeat() {
  LookAtDevice();
  v1::WorkerMessage message;
  v1::Heartbeat& heartbeat = *message.mutable_heartbeat();
  *heartbeat.mutable_telemetry() = monitor_->Now();
  *heartbeat.mutable_totals() = monitor_->Totals();
  // As that look, or the one before the burst that runs, saw them.
  for (const ForeignProcess& process : monitor_->LastForeign()) {
    if (heartbeat.foreign_size() >= kMostForeign) break;
    v1::ForeignProcess& foreign = *heartbeat.add_foreign();
    foreign.set_pid(process.pid);
    foreign.set_user(process.user);
    foreign.set_command(process.command);
    foreign.set_memory_bytes(process.memory_bytes);
    foreign.set_utilization(process.utilization);
  }
  const auto& kept = kept_.Get(Now(), !attempts_->busy());
  heartbeat.mutable_kept_bytes()->insert(kept.begin(), kept.end());
  // A wedged device is asked again each time: the driver may have recovered it.
  if (!mismatch_ && !attempts_->device().ok()) attempts_->SetDevice(monitor_->Check());
  // After the telemetry, which may take its time: held must be as fresh as can be.
  for (const auto& held : attempts_->Held()) *heartbeat.add_held() = held;
  const absl::Status device = attempts_->device();
  const DeviceCondition::Snapshot condition = condition_->Get();
  heartbeat.set_device_state(DeviceState(condition));
  const bool wedged = heartbeat.device_state() == "WEDGED";
  heartbeat.set_device_message(wedged ? std::string(device.message()) : condition.message);
  heartbeat.set_device_reason(condition.reason);
  for (const v1::DeviceFault& fault : condition.faults) *heartbeat.add_faults() = fault;
  *heartbeat.mutable_canary() = condition.canary;
  if (condition.version != told_version_) {
    *heartbeat.mutable_calibration() = condition.calibration;
    told_version_ = condition.version;
  }
  if (condition.offer_version != told_offer_) {
    *heartbeat.mutable_offer() = condition.offer;
    told_offer_ = condition.offer_version;
  }
  MutexLock lock(mutex_);
  heartbeat.set_draining(draining_);
  told_draining_ = draining_;
  return message;
}

void Session::Handle(const v1::CoordinatorMessage& message) {
  switch (message.message_case()) {
    case v1::CoordinatorMessage::kWelcome:
      return HandleWelcome(message.welcome());
    case v1::CoordinatorMessage::kAssign:
      spdlog::info("case {} of {}, attempt {}", message.assign().id().case_index(),
                   message.assign().id().job(), message.assign().id().attempt());
      attempts_->Assign(message.assign());
      break;
    case v1::CoordinatorMessage::kAck:
      return attempts_->Acknowledge(message.ack().id());
    case v1::CoordinatorMessage::kCancel:
      return attempts_->Cancel(message.cancel().id(), message.cancel().finished()
                                                          ? CancelToken::Why::kFinished
                                                          : CancelToken::Why::kRequested);
    case v1::CoordinatorMessage::kBuild:
    case v1::CoordinatorMessage::MESSAGE_NOT_SET:
      return;
  }
  MutexLock lock(mutex_);
  signalled_ = true;
  wake_.NotifyAll();
}

void Session::HandleWelcome(const v1::Welcome& welcome) {
  for (const auto& verdict : welcome.held()) {
    if (verdict.action() == v1::HeldVerdict::KILL) attempts_->Kill(verdict.id());
  }
  // RESEND, and spooled results the coordinator says nothing about: it answers those as stale.
  attempts_->ResendAll();
  spdlog::info("connected to the coordinator at {}", options_.address);
  MutexLock lock(mutex_);
  if (const double interval = ToSeconds(welcome.heartbeat_interval()); interval > 0) {
    heartbeat_seconds_ = interval;
  }
  welcomed_ = true;
  signalled_ = true;
  wake_.NotifyAll();
}

}  // namespace kbench
