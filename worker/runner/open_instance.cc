#include "worker/runner/open_instance.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "kernels/catalog/catalog.h"
#include "proto/support/clock.h"
#include "worker/runner/failure.h"

namespace kbench {
namespace {

OperandPointers Pointers(const kb_engine* engine, int set) {
  OperandPointers pointers;
  for (int i = 0; i < kb_operand_count(engine); ++i) {
    void* data = nullptr;
    int32_t is_output = 0;
    (void)kb_operand(engine, i, nullptr, nullptr, &is_output);  // the indices are in range
    (void)kb_operand_of(engine, set, i, &data);
    if (is_output != 0) {
      pointers.output = data;
    } else {
      pointers.inputs.push_back(data);
    }
  }
  return pointers;
}

int LaunchNothing(void*, void*) { return 0; }

}  // namespace

std::unique_ptr<OpenInstance> OpenInstance::Open(kb_engine* engine,
                                                 const Implementation& implementation,
                                                 const Problem& problem, const CaseOptions& options,
                                                 v1::RunnerFailure* failure) {
  const std::string dtype = Info(problem.dtype).name;
  const std::string shape = problem.shape.Canonical();
  kb_case spec{};
  spec.kernel = problem.kernel.c_str();
  spec.dtype = dtype.c_str();
  spec.shape = shape.c_str();
  spec.mode = ModeName(problem.mode);
  spec.flush = options.flush.c_str();
  spec.seed = options.seed;
  spec.reference_dir = options.reference_dir.empty() ? nullptr : options.reference_dir.c_str();
  spec.memory_limit_bytes = options.memory_limit_bytes;
  spec.flush_bytes = options.flush_bytes;
  const kb_status status = kb_case_open(engine, &spec);
  if (status != KB_OK) {
    SetEngineFailure(engine, status, "", failure);
    return nullptr;
  }
  std::unique_ptr<OpenInstance> opened(
      new OpenInstance(engine, implementation, problem, options.threads));
  if (!opened->CreateFrom(options.candidate, failure)) return nullptr;
  return opened;
}

OpenInstance::OpenInstance(kb_engine* engine, const Implementation& implementation,
                           const Problem& problem, int threads)
    : engine_(engine),
      implementation_(implementation),
      problem_(problem),
      threads_(threads),
      offered_(implementation.candidates == nullptr ? std::vector<std::string>()
                                                    : implementation.candidates(problem)) {}

OpenInstance::~OpenInstance() {
  instances_.clear();  // may still use the operands
  kb_case_close(engine_);
}

bool OpenInstance::CreateFrom(const std::string& candidate, v1::RunnerFailure* failure) {
  order_ = offered_;
  if (order_.empty()) order_.emplace_back();
  const auto first = std::find(order_.begin(), order_.end(), candidate);
  if (first != order_.end()) std::rotate(order_.begin(), first, first + 1);
  next_ = 0;
  return CreateNext(failure);
}

bool OpenInstance::CreateNext(v1::RunnerFailure* failure) {
  v1::RunnerFailure first;
  first.set_outcome(v1::OUTCOME_UNSPECIFIED);
  while (next_ < order_.size()) {
    const std::string& candidate = order_[next_++];
    v1::RunnerFailure why;
    instances_.clear();
    if (Create(candidate, &why)) {
      candidate_ = candidate;
      return true;
    }
    if (first.outcome() == v1::OUTCOME_UNSPECIFIED || why.fatal()) first = why;
    if (why.fatal()) break;
  }
  if (first.outcome() != v1::OUTCOME_UNSPECIFIED) *failure = first;
  return false;
}

bool OpenInstance::Create(const std::string& candidate, v1::RunnerFailure* failure) {
  DeviceContext context;
  context.threads = threads_;
  context.stream = kb_stream(engine_);
  context.candidate = candidate;
  try {
    if (CreateAll(context, failure)) return true;
  } catch (const std::exception& exception) {
    SetFailure(v1::OUTCOME_CRASHED, "EXCEPTION",
               implementation_.name + " threw while it was created: " + exception.what(), failure);
  } catch (...) {
    SetFailure(v1::OUTCOME_CRASHED, "EXCEPTION",
               implementation_.name + " threw while it was created", failure);
  }
  // Whether the device survived decides whether this process may go on.
  double seconds = 0;
  if (kb_call(engine_, LaunchNothing, nullptr, &seconds) == KB_DEVICE_ERROR) {
    failure->set_fatal(true);
  }
  return false;
}

// The first one's time is what a user of the implementation would wait for.
bool OpenInstance::CreateAll(const DeviceContext& context, v1::RunnerFailure* failure) {
  for (int set = 0; set < kb_operand_sets(engine_); ++set) {
    const double begin = SystemClock().SteadySeconds();
    auto created = implementation_.create(problem_, Pointers(engine_, set), context);
    if (set == 0) create_seconds_ = SystemClock().SteadySeconds() - begin;
    if (!created) {
      SetImplementationFailure(created.error(), kb_device_free_bytes(engine_), failure);
      return false;
    }
    instances_.push_back(std::move(created).value());
  }
  return true;
}

int OpenInstance::Launch(void* user, void* stream) {
  auto* self = static_cast<OpenInstance*>(user);
  const auto set = static_cast<std::size_t>(kb_current_set(self->engine_));
  const int error = self->instances_[set]->Launch(stream);
  if (error != 0) {
    self->launch_error_ = error;
    self->failed_set_ = set;
  }
  return error;
}

bool OpenInstance::Call(double* seconds, v1::RunnerFailure* failure) {
  const kb_status status = kb_call(engine_, Launch, this, seconds);
  if (status == KB_OK) return true;
  Explain(status, failure);
  return false;
}

void OpenInstance::Explain(kb_status status, v1::RunnerFailure* failure) const {
  const std::string text = status == KB_LAUNCH_FAILED
                               ? instances_[failed_set_]->ErrorText(launch_error_)
                               : std::string();
  SetEngineFailure(engine_, status, text, failure);
}

}  // namespace kbench
