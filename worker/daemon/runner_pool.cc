#include "worker/daemon/runner_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/runner_hello.h"
#include "worker/daemon/worker_config.h"

namespace kbench {
namespace {

constexpr double kRetrySeconds = 5;
// A Python runner that does not start any more costs seconds of the processor at each try.
constexpr double kMostRetrySeconds = 300;
constexpr double kLookSeconds = 0.05;

double Now() { return SystemClock().SteadySeconds(); }

}  // namespace

double RunnerPool::HelloSeconds(const RunnerSpec& spec) const {
  return spec.hello_seconds > 0 ? spec.hello_seconds : options_.hello_seconds;
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerPool::StartOne(
    const RunnerSpec& spec, const Patience& patience) const {
  auto runner = RunnerProcess::Start(spec);
  if (!runner.ok()) return runner.status();
  v1::RunnerHelloReply hello;
  const absl::Status answered =
      AskHello(**runner, spec, std::min(HelloSeconds(spec), patience.seconds),
               patience.cancel != nullptr ? patience.cancel : &stopping_, &hello);
  if (!answered.ok()) return answered;
  return runner;
}

absl::StatusOr<std::unique_ptr<RunnerPool>> RunnerPool::Create(Options options) {
  std::unique_ptr<RunnerPool> pool(new RunnerPool(std::move(options)));
  if (!pool->options_.refill_at_once) pool->BeginCase();
  if (absl::Status status = pool->StartAll(); !status.ok()) return status;
  pool->refill_ = std::thread([raw = pool.get()] { raw->RefillLoop(); });
  return pool;
}

absl::Status RunnerPool::StartAll() {
  {
    MutexLock lock(mutex_);
    absent_ = options_.absent;
  }
  // All processes first, so that they load at the same time.
  std::deque<std::unique_ptr<RunnerProcess>> first;
  for (const RunnerSpec& spec : options_.runners) {
    programs_.push_back({spec});
    auto runner = RunnerProcess::Start(spec);
    if (!runner.ok() && !spec.python()) return runner.status();
    if (!runner.ok()) {
      MutexLock lock(mutex_);
      absent_.push_back(AbsentBecause(spec, runner.status()));
    }
    first.push_back(runner.ok() ? *std::move(runner) : nullptr);
  }
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (programs_[i].spec.python() && first[i] != nullptr) BeginPython(i, std::move(first[i]));
  }
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    Program& program = programs_[i];
    if (program.spec.python()) continue;
    absl::Status status =
        AskHello(*first[i], program.spec, HelloSeconds(program.spec), &stopping_, &program.hello);
    if (status.ok()) status = CheckHello(program.spec, options_.device_kind, program.hello);
    if (!status.ok()) return status;
    for (const auto& info : program.hello.implementations()) implementations_.push_back(info);
    program.usable = true;
    program.spares.push_back(std::move(first[i]));
  }
  return absl::OkStatus();
}

void RunnerPool::BeginPython(std::size_t program, std::unique_ptr<RunnerProcess> runner) {
  Beginning& beginning = beginnings_.emplace_back();
  beginning.program = program;
  beginning.runner = std::move(runner);
  beginning.thread = std::thread([this, &beginning, &spec = programs_[program].spec] {
    v1::RunnerHelloReply& hello = beginning.hello;
    absl::Status status = AskHello(*beginning.runner, spec, HelloSeconds(spec), &stopping_, &hello);
    if (status.ok()) status = CheckHello(spec, options_.device_kind, hello);
    if (status.ok()) status = AdoptPythonNames(spec, &hello);
    beginning.status = status;
    MutexLock lock(mutex_);
    ++answered_;
    wake_.NotifyAll();
  });
}

bool RunnerPool::Complete(const CancelToken& cancel) {
  {
    MutexLock lock(mutex_);
    while (answered_ < beginnings_.size()) {
      if (cancel.cancelled()) return false;
      wake_.WaitFor(mutex_, kLookSeconds);
    }
  }
  for (Beginning& beginning : beginnings_) TakeOver(beginning);
  MutexLock lock(mutex_);
  beginnings_.clear();
  answered_ = 0;
  wake_.NotifyAll();
  return true;
}

void RunnerPool::TakeOver(Beginning& beginning) {
  beginning.thread.join();
  MutexLock lock(mutex_);
  Program& program = programs_[beginning.program];
  if (!beginning.status.ok()) {
    absent_.push_back(AbsentBecause(program.spec, beginning.status));
    return;
  }
  program.hello = std::move(beginning.hello);
  absent_.insert(absent_.end(), program.hello.absent().begin(), program.hello.absent().end());
  for (const auto& info : program.hello.implementations()) implementations_.push_back(info);
  program.usable = !program.hello.implementations().empty();
  if (program.usable) program.spares.push_back(std::move(beginning.runner));
}

std::vector<v1::AbsentFramework> RunnerPool::absent() const {
  MutexLock lock(mutex_);
  std::vector<v1::AbsentFramework> all = absent_;
  for (const Beginning& beginning : beginnings_) {
    all.push_back(StillStarting(programs_[beginning.program].spec));
  }
  return all;
}

std::string RunnerPool::WhyAbsent(const std::string& implementation) const {
  const std::size_t at = implementation.find('@');
  const std::string environment =
      at == std::string::npos ? kDefaultEnvironment : implementation.substr(at + 1);
  const std::string framework = implementation.substr(0, implementation.find_first_of("/@"));
  for (const v1::AbsentFramework& one : absent()) {
    if (one.framework() != framework || one.environment() != environment) continue;
    return fmt::format("{} is absent: {}{}", NameOf(one), one.message(),
                       one.install().empty() ? "" : "; install it with: " + one.install());
  }
  return "";
}

RunnerPool::~RunnerPool() {
  stopping_.Cancel(CancelToken::Why::kShutdown);
  {
    MutexLock lock(mutex_);
    stop_ = true;
    if (python_refill_ != nullptr) python_refill_->Cancel(CancelToken::Why::kShutdown);
    wake_.NotifyAll();
  }
  for (Beginning& beginning : beginnings_) beginning.thread.join();
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
                                                                Which which,
                                                                const Patience& patience) {
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
  return StartOne(program.spec, patience);
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
  if (python_refill_ != nullptr) python_refill_->Cancel(CancelToken::Why::kRequested);
}

void RunnerPool::EndCase() {
  MutexLock lock(mutex_);
  case_running_ = false;
  idle_since_ = Now();
  wake_.NotifyAll();
}

int RunnerPool::spares() const {
  MutexLock lock(mutex_);
  std::size_t count = 0;
  for (const Program& program : programs_) count += program.spares.size();
  return static_cast<int>(count);
}

double RunnerPool::RefillIn(const Program& program, double now) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const bool python = program.spec.python();
  const int wanted = python ? std::min(options_.spares, 1) : options_.spares;
  if (case_running_ || !program.usable) return kNever;
  if (program.spares.size() >= static_cast<std::size_t>(wanted)) return kNever;
  double at = program.retry_at;
  if (python) at = std::max(at, idle_since_ + options_.python_idle_seconds);
  return std::max(0.0, at - now);
}

void RunnerPool::RefillLoop() {
  MutexLock lock(mutex_);
  while (!stop_) {
    constexpr double kLongSeconds = 3600;
    double wait = kLongSeconds;
    Program* next = nullptr;
    for (Program& program : programs_) {
      const double in = RefillIn(program, Now());
      if (in < wait) {
        wait = in;
        next = &program;
      }
    }
    if (next != nullptr && wait <= 0) {
      Refill(next);
    } else {
      wake_.WaitFor(mutex_, wait);
    }
  }
}

void RunnerPool::Refill(Program* program) {
  std::shared_ptr<CancelToken> cancel;
  if (program->spec.python()) python_refill_ = cancel = std::make_shared<CancelToken>();
  mutex_.Unlock();
  auto runner = StartOne(program->spec, {.cancel = cancel.get()});
  mutex_.Lock();
  python_refill_.reset();
  if (runner.ok()) {
    program->retry_after = 0;
    program->spares.push_back(*std::move(runner));
    return;
  }
  if (stopping_.cancelled() || absl::IsCancelled(runner.status())) return;
  spdlog::warn("{}", std::string(runner.status().message()));
  const double most = program->spec.python() ? kMostRetrySeconds : kRetrySeconds;
  program->retry_after = std::clamp(2 * program->retry_after, kRetrySeconds, most);
  program->retry_at = Now() + program->retry_after;
}

}  // namespace kbench
