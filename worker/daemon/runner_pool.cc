#include "worker/daemon/runner_pool.h"

#include <algorithm>
#include <utility>

#include "spdlog/spdlog.h"

namespace kbench {
namespace {

constexpr int kProtocolVersion = 1;
constexpr double kRefillRetrySeconds = 5;

}  // namespace

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerPool::StartOne(const RunnerSpec& spec,
                                                                    v1::RunnerHelloReply* hello) {
  auto runner = RunnerProcess::Start(spec);
  if (!runner.ok()) return runner.status();
  v1::RunnerRequest request;
  request.mutable_hello();
  auto reply = (*runner)->Call(std::move(request), options_.hello_seconds, "hello", &stopping_);
  if (!reply.ok()) {
    std::string said = (*runner)->TakeOutput();
    std::replace(said.begin(), said.end(), '\n', ' ');
    return absl::FailedPreconditionError("the runner " + spec.program +
                                         " does not start: " + reply.error().message +
                                         (said.empty() ? "" : "; it said: " + said));
  }
  *hello = std::move(*reply->mutable_hello());
  return runner;
}

absl::StatusOr<std::unique_ptr<RunnerPool>> RunnerPool::Create(Options options) {
  std::unique_ptr<RunnerPool> pool(new RunnerPool(std::move(options)));
  if (!pool->options_.refill_at_once) pool->BeginCase();
  for (const RunnerSpec& spec : pool->options_.runners) {
    Program program{spec, {}, {}};
    auto runner = pool->StartOne(spec, &program.hello);
    if (!runner.ok()) return runner.status();
    if (program.hello.protocol_version() != kProtocolVersion) {
      return absl::FailedPreconditionError("the runner " + spec.program + " speaks protocol " +
                                           std::to_string(program.hello.protocol_version()) +
                                           ", this worker speaks 1");
    }
    if (program.hello.device_kind() != pool->options_.device_kind) {
      return absl::FailedPreconditionError("the runner " + spec.program + " drives '" +
                                           program.hello.device_kind() + "', this device is '" +
                                           pool->options_.device_kind + "'");
    }
    for (const auto& info : program.hello.implementations()) {
      pool->implementations_.push_back(info);
    }
    program.spares.push_back(*std::move(runner));
    pool->programs_.push_back(std::move(program));
  }
  pool->refill_ = std::thread([raw = pool.get()] { raw->RefillLoop(); });
  return pool;
}

RunnerPool::~RunnerPool() {
  stopping_.Cancel(CancelToken::Why::kShutdown);
  {
    MutexLock lock(mutex_);
    stop_ = true;
    wake_.NotifyAll();
  }
  if (refill_.joinable()) refill_.join();
}

std::size_t RunnerPool::ProgramOf(const std::string& kernel,
                                  const std::string& implementation) const {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    for (const auto& info : programs_[i].hello.implementations()) {
      if (info.kernel() == kernel && info.name() == implementation) return i;
    }
  }
  return programs_.size();
}

const v1::RunnerHelloReply* RunnerPool::HelloOf(const std::string& kernel,
                                                const std::string& implementation) const {
  const std::size_t index = ProgramOf(kernel, implementation);
  return index < programs_.size() ? &programs_[index].hello : nullptr;
}

const RunnerSpec* RunnerPool::SpecOf(const std::string& kernel,
                                     const std::string& implementation) const {
  const std::size_t index = ProgramOf(kernel, implementation);
  return index < programs_.size() ? &programs_[index].spec : nullptr;
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerPool::Take(const std::string& kernel,
                                                                const std::string& implementation,
                                                                Which which) {
  const std::size_t index = ProgramOf(kernel, implementation);
  if (index >= programs_.size()) {
    return absl::NotFoundError("no runner of this worker has " + implementation + " for " + kernel);
  }
  Program& program = programs_[index];
  {
    MutexLock lock(mutex_);
    const auto kept = kept_.find(implementation);
    if (which == Which::kAny && kept != kept_.end()) {
      auto runner = std::move(kept->second);
      kept_.erase(kept);
      if (!runner->Ended() && runner->program() == program.spec.program) return runner;
    }
    while (!program.spares.empty()) {
      auto runner = std::move(program.spares.front());
      program.spares.pop_front();
      // A spare that somebody killed must not count against the implementation.
      if (!runner->Ended()) return runner;
    }
  }
  v1::RunnerHelloReply hello;
  return StartOne(program.spec, &hello);
}

void RunnerPool::Keep(const std::string& implementation, std::unique_ptr<RunnerProcess> runner) {
  if (runner == nullptr || !runner->alive()) return;
  MutexLock lock(mutex_);
  kept_[implementation] = std::move(runner);
}

void RunnerPool::DropKept() {
  std::map<std::string, std::unique_ptr<RunnerProcess>> dropped;
  MutexLock lock(mutex_);
  dropped.swap(kept_);
}

void RunnerPool::BeginCase() {
  MutexLock lock(mutex_);
  case_running_ = true;
}

void RunnerPool::EndCase() {
  MutexLock lock(mutex_);
  case_running_ = false;
  wake_.NotifyAll();
}

int RunnerPool::spares() const {
  MutexLock lock(mutex_);
  std::size_t count = 0;
  for (const Program& program : programs_) count += program.spares.size();
  return static_cast<int>(count);
}

RunnerPool::Program* RunnerPool::NextToRefill() {
  if (case_running_) return nullptr;
  for (Program& program : programs_) {
    if (program.spares.size() < static_cast<std::size_t>(options_.spares)) return &program;
  }
  return nullptr;
}

void RunnerPool::RefillLoop() {
  MutexLock lock(mutex_);
  while (!stop_) {
    Program* program = NextToRefill();
    if (program == nullptr) {
      wake_.Wait(mutex_);
      continue;
    }
    mutex_.Unlock();
    v1::RunnerHelloReply hello;
    auto runner = StartOne(program->spec, &hello);
    mutex_.Lock();
    if (runner.ok()) {
      program->spares.push_back(*std::move(runner));
    } else if (!stopping_.cancelled()) {
      spdlog::warn("{}", std::string(runner.status().message()));
      wake_.WaitFor(mutex_, kRefillRetrySeconds);
    }
  }
}

}  // namespace kbench
