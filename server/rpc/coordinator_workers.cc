// What workers say.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/rpc/convert.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/selection.h"
#include "server/rpc/versions.h"
#include "spdlog/spdlog.h"

namespace kbench::server {

using kbench::v1::Artifact;
using kbench::v1::AttemptResult;
using kbench::v1::CoordinatorMessage;
using kbench::v1::HeldVerdict;
using kbench::v1::Result;
using kbench::v1::WorkerHello;
using kbench::v1::WorkerMessage;

namespace {

absl::Status Invalid(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kInvalidArgument, message, {.reason = reason});
}

constexpr std::size_t kMostIdBytes = 256;
constexpr int kMostLabels = 16;
constexpr std::size_t kMostLabelBytes = 63;

bool IsLabelText(const std::string& text) {
  return text.size() <= kMostLabelBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
         });
}

// They are typed into selectors.
absl::Status CheckDeviceLabels(const kbench::v1::Device& device) {
  if (device.labels_size() > kMostLabels) {
    return Invalid(fmt::format("{} labels of a device are too many: at most {}",
                               device.labels_size(), kMostLabels),
                   "TOO_MANY_LABELS");
  }
  for (const auto& [key, value] : device.labels()) {
    if (!key.empty() && IsLabelText(key) && IsLabelText(value)) continue;
    return Invalid(fmt::format("a device's label is letters, digits, '.', '_', '-' and '/', at "
                               "most {} on each side, not '{}={}'",
                               kMostLabelBytes, key, value),
                   "BAD_LABEL");
  }
  return absl::OkStatus();
}

// A device's name is a metric label and a word of the command line.
absl::Status CheckHello(const WorkerHello& hello) {
  if (hello.worker_id().empty() || hello.boot_id().empty()) {
    return Invalid("a hello needs worker_id and boot_id", "BAD_HELLO");
  }
  for (const std::string& text : {hello.worker_id(), hello.boot_id(), hello.version()}) {
    if (text.size() <= kMostIdBytes) continue;
    return Invalid(fmt::format("an id or version of {} bytes is too long: at most {}", text.size(),
                               kMostIdBytes),
                   "BAD_HELLO");
  }
  const std::string& name = hello.device().name();
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (name.empty() || name.size() > 64 || !plain) {
    return Invalid("a device's name has 1 to 64 letters, digits, '.', '_' and '-', not '" + name +
                       "'; give the worker another --name",
                   "BAD_DEVICE_NAME");
  }
  const std::string& kind = hello.device().kind();
  if (kind != "cpu" && kind != "cuda") {
    return Invalid("a device's kind is cpu or cuda, not '" + kind + "'", "BAD_HELLO");
  }
  if (name == "gpu" || (name == "cpu" && kind != "cpu")) {
    return Invalid(
        "the device name " + name + " means any device of its kind; give the worker another --name",
        "BAD_DEVICE_NAME");
  }
  return CheckDeviceLabels(hello.device());
}

// Not while it is CALIBRATING, WEDGED or FAILED.
bool TakesCases(const std::string& state) {
  return state.empty() || state == "READY" || state == "BUSY" || state == "HELD";
}

std::vector<scheduler::Held> ToHeldList(
    const google::protobuf::RepeatedPtrField<kbench::v1::HeldAttempt>& held) {
  std::vector<scheduler::Held> list;
  for (const auto& item : held) list.push_back(ToHeld(item.id(), item.finished()));
  return list;
}

HeldVerdict::Action ToAction(scheduler::HeldAction action) {
  switch (action) {
    case scheduler::HeldAction::kKeep:
      return HeldVerdict::KEEP;
    case scheduler::HeldAction::kKill:
      return HeldVerdict::KILL;
    case scheduler::HeldAction::kResend:
      return HeldVerdict::RESEND;
  }
  return HeldVerdict::ACTION_UNSPECIFIED;
}

// A worker's file name as the last part of an artifact's name.
std::string SafeFile(const std::string& file) {
  std::string safe = file.substr(0, 100);
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0 && c != '.' && c != '_' && c != '-') c = '_';
  }
  return safe.empty() ? "file" : safe;
}

scheduler::AttemptEnd EndOf(const AttemptResult& result) {
  if (!result.infra_error().empty()) {
    return {scheduler::AttemptEnd::Kind::kInfra, result.infra_error()};
  }
  if (result.cancelled()) return {scheduler::AttemptEnd::Kind::kCancelled, ""};
  if (result.has_hold()) {
    return {scheduler::AttemptEnd::Kind::kResult, result.hold().message(), "HOLD_ENDED"};
  }
  if (result.results().empty()) {
    return {scheduler::AttemptEnd::Kind::kInfra, "the worker sent no result"};
  }
  return {scheduler::AttemptEnd::Kind::kResult, ""};
}

// Full names, unique within the attempt; the results' lists of names follow.
std::vector<Artifact> NameArtifacts(AttemptResult& attempt, bool is_result) {
  const std::string prefix =
      fmt::format("artifacts/{}-{}-{}", JobId(attempt.id().job()), attempt.id().case_index(),
                  is_result ? "" : fmt::format("attempt{}-", attempt.id().attempt()));
  std::map<std::string, std::string> renamed;
  std::set<std::string> used;
  std::vector<Artifact> artifacts;
  for (Artifact& artifact : *attempt.mutable_artifacts()) {
    std::string name = prefix + SafeFile(artifact.name());
    for (int n = 2; !used.insert(name).second; ++n) {
      name = fmt::format("{}{}.{}", prefix, SafeFile(artifact.name()), n);
    }
    renamed[artifact.name()] = name;
    artifact.set_name(name);
    artifact.set_size_bytes(static_cast<std::int64_t>(artifact.content().size()));
    artifacts.push_back(std::move(artifact));
  }
  for (Result& result : *attempt.mutable_results()) {
    for (std::string& name : *result.mutable_artifacts()) {
      const auto found = renamed.find(name);
      if (found != renamed.end()) name = found->second;
    }
  }
  return artifacts;
}

void Append(scheduler::Effects more, scheduler::Effects& effects) {
  std::move(more.cases.begin(), more.cases.end(), std::back_inserter(effects.cases));
  std::move(more.jobs.begin(), more.jobs.end(), std::back_inserter(effects.jobs));
  std::move(more.assigns.begin(), more.assigns.end(), std::back_inserter(effects.assigns));
  std::move(more.cancels.begin(), more.cancels.end(), std::back_inserter(effects.cancels));
  std::move(more.usages.begin(), more.usages.end(), std::back_inserter(effects.usages));
  effects.expired_leases += more.expired_leases;
}

bool EndsCase(const scheduler::Effects& effects, const scheduler::CaseRef& ref) {
  return std::any_of(effects.cases.begin(), effects.cases.end(), [&](const auto& transition) {
    return transition.state.ref == ref && (transition.state.state == scheduler::State::kSucceeded ||
                                           transition.state.state == scheduler::State::kCancelled);
  });
}

}  // namespace

std::shared_ptr<WorkerLink> Coordinator::LinkOf(const std::string& worker_id) {
  for (const auto& [link, session] : sessions_) {
    if (session.worker_id == worker_id) return link;
  }
  return nullptr;
}

void Coordinator::OnWorkerMessage(const std::shared_ptr<WorkerLink>& link, WorkerMessage message) {
  if (message.has_progress()) {
    PublishProgress(link, std::move(*message.mutable_progress()));
    return;
  }
  Closings closings;
  {
    MutexLock lock(mutex_);
    HandleWorkerMessage(link, std::move(message), closings);
  }
  for (const auto& [closed, status] : closings) closed->Close(status);
}

void Coordinator::PublishProgress(const std::shared_ptr<WorkerLink>& link,
                                  kbench::v1::AttemptProgress progress) {
  {
    // Of an attempt that is fenced off, or somebody else's, nobody wants to hear.
    MutexLock lock(mutex_);
    const auto found = sessions_.find(link);
    if (found == sessions_.end() ||
        !scheduler_.IsOpen(found->second.worker_id, ToHeld(progress.id(), false))) {
      return;
    }
  }
  if (!NoteProgress(progress)) return;
  kbench::v1::JobEvent event;
  *event.mutable_time() = ToTimestamp(clock_.WallMicros());
  *event.mutable_progress() = std::move(*progress.mutable_progress());
  event.mutable_progress()->set_case_index(progress.id().case_index());
  hub_.PublishEphemeral(progress.id().job(), event);
}

void Coordinator::HandleWorkerMessage(const std::shared_ptr<WorkerLink>& link,
                                      WorkerMessage message, Closings& closings) {
  if (const absl::Status serving = CheckServing(); !serving.ok()) {
    closings.emplace_back(link, serving);
    return;
  }
  const auto found = sessions_.find(link);
  if (message.has_hello() != (found == sessions_.end())) {
    // Also a session that was displaced or refused, whose stream is ending.
    closings.emplace_back(link,
                          Invalid("a worker says hello once, in its first message", "BAD_HELLO"));
  } else if (message.has_hello()) {
    OnHello(link, message.hello(), closings);
  } else if (message.has_heartbeat()) {
    OnHeartbeat(found->second, message.heartbeat());
  } else if (message.has_result()) {
    OnResult(link, found->second, std::move(*message.mutable_result()));
  }
}

void Coordinator::OnHello(const std::shared_ptr<WorkerLink>& link, const WorkerHello& hello,
                          Closings& closings) {
  if (const absl::Status status = CheckHello(hello); !status.ok()) {
    closings.emplace_back(link, status);
    return;
  }
  const std::string& own = options_.version.empty() ? KBENCH_VERSION : options_.version;
  if (const absl::Status status = CheckWorkerVersion(hello.version(), own); !status.ok()) {
    spdlog::warn("worker {} refused: {}", hello.worker_id(), MessageOf(status));
    closings.emplace_back(link, status);
    return;
  }
  if (!KeepsIdentity(link, hello, closings)) return;
  const kbench::v1::Device device = devices_.Completed(hello.device());
  scheduler::WorkerEntry worker = SelectableOf(device);
  worker.worker_id = hello.worker_id();
  worker.boot_id = hello.boot_id();
  worker.device_key = DeviceKey(device);
  worker.capabilities = CapabilitiesOf(device);
  worker.ready = TakesCases(device.state());
  worker.blocked = device.state_reason() == "DRIVER_MISMATCH" ? device.state_reason()
                                                              : maintenance_.Blocked(device.name());
  scheduler::HelloAnswer answer = scheduler_.WorkerHello(Now(), worker, ToHeldList(hello.held()));
  if (!answer.accepted) {
    spdlog::warn("worker {} refused: {}", hello.worker_id(), answer.refusal);
    closings.emplace_back(link, MakeError(absl::StatusCode::kAlreadyExists, answer.refusal,
                                          {.reason = answer.refusal_reason}));
    return;
  }
  if (const auto old = LinkOf(hello.worker_id())) {
    sessions_.erase(old);
    closings.emplace_back(
        old, MakeError(absl::StatusCode::kAborted,
                       "a newer session of worker " + hello.worker_id() + " took its place",
                       {.reason = "DISPLACED"}));
  }
  spdlog::info("worker {} offers device {} ({}, {} implementations)", hello.worker_id(),
               device.name(), device.model(), device.implementations_size());
  sessions_[link] = {hello.worker_id(), hello.boot_id(), hello.version()};
  Step step;
  step.batch.devices.forgotten =
      devices_.WorkerSaidHello(device, hello.worker_id(), clock_.WallMicros());
  FollowEnvironment(device.name());
  KeepDevice(*devices_.Find(device.name()), step);
  devices_.SetMaintenance(device.name(), maintenance_.Of(device.name()));
  CoordinatorMessage message;
  kbench::v1::Welcome& welcome = *message.mutable_welcome();
  *welcome.mutable_heartbeat_interval() = ToDuration(options_.heartbeat_seconds);
  *welcome.mutable_lease_duration() = ToDuration(options_.scheduler.lease_seconds);
  for (const auto& [held, action] : answer.held) {
    HeldVerdict& verdict = *welcome.add_held();
    *verdict.mutable_id() = ToAttemptId(held.ref, held.attempt, held.epoch);
    verdict.set_action(ToAction(action));
  }
  step.sends.emplace_back(link, std::move(message));
  if (hello.held_size() > 0) step.batch.next_epoch = scheduler_.next_epoch();
  AddEffects(std::move(answer.effects), nullptr, step);
  Commit(std::move(step));
}

bool Coordinator::KeepsIdentity(const std::shared_ptr<WorkerLink>& link, const WorkerHello& hello,
                                Closings& closings) {
  const std::string& id = hello.worker_id();
  const auto old = LinkOf(id);
  const bool displaces = old != nullptr && sessions_.at(old).boot_id != hello.boot_id();
  double refused_for = contests_.RefusedFor(Now(), id);
  if (refused_for == 0 && displaces && contests_.Displaced(Now(), id)) {
    refused_for = contests_.RefusedFor(Now(), id);
  }
  if (refused_for == 0) return true;
  const absl::Status refusal = MakeError(
      absl::StatusCode::kAlreadyExists,
      fmt::format("two workers call themselves {} and take the place from each other; both are "
                  "refused for {:.0f} s: stop one of them (are there two hosts named {}?)",
                  id, refused_for, hello.device().hostname()),
      {.reason = "IDENTITY_CONTESTED", .metadata = {{"worker", id}}});
  spdlog::error("{}", MessageOf(refusal));
  closings.emplace_back(link, refusal);
  if (old == nullptr) return false;
  const Session session = sessions_.at(old);
  sessions_.erase(old);
  devices_.WorkerLeft(id);
  CommitEffects(scheduler_.WorkerGone(Now(), id, session.boot_id));
  closings.emplace_back(old, refusal);
  return false;
}

void Coordinator::OnHeartbeat(const Session& session, const kbench::v1::Heartbeat& heartbeat) {
  devices_.WorkerBeat(session.worker_id, heartbeat, clock_.WallMicros());
  if (heartbeat.has_offer()) {
    const kbench::v1::Device* device = devices_.OfWorker(session.worker_id);
    if (device != nullptr)
      scheduler_.WorkerOffers(Now(), session.worker_id, CapabilitiesOf(*device));
  }
  OnDeviceNews(session, heartbeat);
  CommitEffects(scheduler_.WorkerHeartbeat(Now(), session.worker_id, session.boot_id,
                                           TakesCases(heartbeat.device_state()),
                                           heartbeat.draining(), ToHeldList(heartbeat.held())));
}

void Coordinator::CompleteResult(const Session& session, int index, const kbench::v1::AttemptId& id,
                                 Result& result) {
  const kbench::v1::JobSpec& spec = *active_.at(id.job()).spec;
  const kbench::v1::Device* device = devices_.OfWorker(session.worker_id);
  result.set_name(fmt::format("results/{}-{}-{}", JobId(id.job()), id.case_index(), index));
  result.set_job(id.job());
  result.set_case_index(id.case_index());
  *result.mutable_case_() = spec.cases(id.case_index());
  *result.mutable_policy() = spec.policy();
  result.set_attempt(id.attempt());
  result.set_worker(session.worker_id);
  if (device != nullptr) result.set_device(device->name());
  *result.mutable_create_time() = ToTimestamp(clock_.WallMicros());
}

void Coordinator::OnResult(const std::shared_ptr<WorkerLink>& link, const Session& session,
                           AttemptResult result) {
  const scheduler::AttemptEnd end = EndOf(result);
  // Before the device is free for them.
  const std::vector<scheduler::CaseRef> sharers = end.kind == scheduler::AttemptEnd::Kind::kResult
                                                      ? Sharers(session, result)
                                                      : std::vector<scheduler::CaseRef>();
  scheduler::Effects shared;
  const scheduler::CaseRef ref{result.id().job(), result.id().case_index()};
  const kbench::v1::Device* measured_on = devices_.OfWorker(session.worker_id);
  for (const scheduler::CaseRef& sharer : sharers) {
    Append(scheduler_.FinishCase(Now(), sharer, ref, measured_on->name()), shared);
  }
  scheduler::ResultAnswer answer =
      scheduler_.WorkerResult(Now(), session.worker_id, ToHeld(result.id(), true), end);
  Step step;
  CoordinatorMessage message;
  *message.mutable_ack()->mutable_id() = result.id();
  message.mutable_ack()->set_stale(!answer.accepted);
  // Also a stale one is answered only after what was enqueued before: a duplicate must not be told
  // "forget it" while the first is not on disk yet.
  step.sends.emplace_back(link, std::move(message));
  if (!answer.accepted) {
    step.on_durable.push_back([this] { metrics_.StaleResult(); });
    AddEffects(std::move(answer.effects), nullptr, step);
    Commit(std::move(step));
    return;
  }
  if (const kbench::v1::Device* device = devices_.OfWorker(session.worker_id)) {
    step.on_durable.push_back([this, name = device->name(), seconds = result.phase_seconds(),
                               gap = result.gap_seconds()] {
      metrics_.AttemptTook(name, {seconds.begin(), seconds.end()}, gap);
    });
  }
  CaseResults results;
  const bool ends = EndsCase(answer.effects, ref);
  step.batch.artifacts = NameArtifacts(result, ends);
  if (ends) {
    for (int i = 0; i < result.results_size(); ++i) {
      CompleteResult(session, i, result.id(), *result.mutable_results(i));
      results[ref].push_back(std::move(*result.mutable_results(i)));
    }
    for (const scheduler::CaseRef& sharer : sharers) results[sharer] = results[ref];
    step.batch.results = results[ref];
    RecordDuration(answer.effects, results[ref]);
    if (result.hold().has_exit_code()) {
      step.batch.hold_ends.push_back({result.id().job(), result.hold().exit_code()});
    }
    std::map<std::string, std::string> labels;
    if (const auto active = active_.find(ref.job); active != active_.end()) {
      labels.insert(active->second.spec->labels().begin(), active->second.spec->labels().end());
    }
    step.on_durable.push_back([this, stored = results[ref], labels, observe = result_observer_] {
      for (const Result& item : stored) metrics_.RecordResult(item);
      if (observe) observe(stored, labels);
      metrics_.AttemptEnded(metrics::AttemptEnd::kDone);
    });
  } else {
    step.on_durable.push_back([this, cancelled = result.cancelled()] {
      metrics_.AttemptEnded(cancelled ? metrics::AttemptEnd::kCancelled
                                      : metrics::AttemptEnd::kInfra);
    });
    const bool back = end.kind == scheduler::AttemptEnd::Kind::kCancelled;
    spdlog::info("attempt {} of {} case {} {}{}", result.id().attempt(), result.id().job(),
                 result.id().case_index(),
                 back ? "was ended by " + session.worker_id + ": cancelled, or handed back"
                      : "came to nothing: ",
                 back ? "" : end.message);
  }
  AddEffects(std::move(shared), &results, step);
  AddEffects(std::move(answer.effects), &results, step);
  Commit(std::move(step));
}

void Coordinator::OnWorkerGone(const std::shared_ptr<WorkerLink>& link) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(link);
  if (found == sessions_.end()) return;
  const Session session = found->second;
  sessions_.erase(found);
  spdlog::info("worker {} has left", session.worker_id);
  devices_.WorkerLeft(session.worker_id);
  if (draining_) return;  // nothing is assigned any more
  if (const kbench::v1::Device* device = devices_.OfWorker(session.worker_id)) {
    // What the worker itself said of its device ends with it.
    Step step;
    KeepDevice(*device, step);
    AddEffects(FollowMaintenance(device->name()), nullptr, step);
    Commit(std::move(step));
  }
  CommitEffects(scheduler_.WorkerGone(Now(), session.worker_id, session.boot_id));
}

}  // namespace kbench::server
