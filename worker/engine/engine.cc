// The C ABI: arguments checked, exceptions stopped, the last error kept.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "kernels/catalog/catalog.h"
#include "worker/engine/case.h"
#include "worker/engine/device.h"
#include "worker/engine/kbench_engine.h"

using kbench::engine::Buffer;
using kbench::engine::Case;
using kbench::engine::CaseSpec;
using kbench::engine::EngineError;

struct kb_engine {
  std::unique_ptr<kbench::engine::Device> device;
  std::unique_ptr<Case> open_case;  // ends before the device
  EngineError last;
  EngineError poison;  // the first KB_DEVICE_ERROR: nothing works after it
};

namespace {

constexpr char kVersion[] = KBENCH_VERSION;

void CopyText(const std::string& text, char* out, std::size_t size) {
  if (out != nullptr && size > 0) std::snprintf(out, size, "%s", text.c_str());
}

// No exception may cross the C ABI.
template <typename Body>
EngineError Contained(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return {KB_OUT_OF_MEMORY, "the host has no memory left for the engine's own work"};
  } catch (const std::exception& exception) {
    return {KB_IO_ERROR, std::string("unexpected: ") + exception.what()};
  }
}

template <typename Body>
kb_status Run(kb_engine* engine, Body body) {
  if (engine == nullptr) return KB_INVALID_ARGUMENT;
  engine->last = engine->poison ? engine->poison : Contained(body);
  if (engine->last.code == KB_DEVICE_ERROR) engine->poison = engine->last;
  // Not every call that can fail for memory asks what there is.
  if (engine->last.code == KB_OUT_OF_MEMORY && engine->last.free_bytes == 0) {
    engine->last.free_bytes = engine->device->FreeBytes();
  }
  return static_cast<kb_status>(engine->last.code);
}

// As Run(), for calls that need an open case and a launch.
template <typename Body>
kb_status RunOnCase(kb_engine* engine, kb_launch launch, const void* out, Body body) {
  return Run(engine, [&]() -> EngineError {
    if (launch == nullptr || out == nullptr) {
      return {KB_INVALID_ARGUMENT, "the launch callback or the place for the answer is NULL"};
    }
    if (!engine->open_case) {
      return {KB_INVALID_ARGUMENT, "no case is open: call kb_case_open first"};
    }
    return body(*engine->open_case);
  });
}

// Of calls that need a problem and no engine.
template <typename Body>
kb_status OnProblem(const char* kernel, const char* dtype, const char* shape, const void* out,
                    Body body) {
  if (kernel == nullptr || dtype == nullptr || shape == nullptr || out == nullptr) {
    return KB_INVALID_ARGUMENT;
  }
  try {
    const auto problem = kbench::MakeProblem(kernel, dtype, shape, "");
    return problem ? body(*problem) : KB_INVALID_ARGUMENT;
  } catch (const std::exception&) {
    return KB_OUT_OF_MEMORY;  // the catalog throws nothing else
  }
}

}  // namespace

extern "C" {

const char* kb_version(void) { return kVersion; }

kb_status kb_open(const char* device, int32_t threads, kb_engine** out, char* error,
                  size_t error_size) {
  if (out == nullptr) return KB_INVALID_ARGUMENT;
  *out = nullptr;
  const EngineError failed = Contained([&]() -> EngineError {
    if (device == nullptr || threads < 1) {
      return {KB_INVALID_ARGUMENT, "kb_open needs a device (cpu or cuda) and at least 1 thread"};
    }
    kbench::engine::OpenedDevice opened = kbench::engine::OpenDevice(device, threads);
    if (!opened.device) return opened.error;
    auto engine = std::make_unique<kb_engine>();
    engine->device = std::move(opened.device);
    *out = engine.release();
    return {};
  });
  CopyText(failed.message, error, error_size);
  return static_cast<kb_status>(failed.code);
}

void kb_close(kb_engine* engine) {
  if (engine == nullptr) return;
  kb_case_close(engine);
  delete engine;
}

const char* kb_error(const kb_engine* engine) {
  return engine == nullptr ? "the engine is NULL" : engine->last.message.c_str();
}

int64_t kb_needed_bytes(const kb_engine* engine) {
  return engine == nullptr ? 0 : engine->last.needed_bytes;
}

int64_t kb_free_bytes(const kb_engine* engine) {
  return engine == nullptr ? 0 : engine->last.free_bytes;
}

int64_t kb_device_free_bytes(const kb_engine* engine) {
  return engine == nullptr ? 0 : engine->device->FreeBytes();
}

kb_status kb_case_open(kb_engine* engine, const kb_case* spec) {
  return Run(engine, [&]() -> EngineError {
    if (spec == nullptr) return {KB_INVALID_ARGUMENT, "the case is NULL"};
    if (engine->open_case) {
      return {KB_INVALID_ARGUMENT, "a case is open already: call kb_case_close first"};
    }
    CaseSpec parsed;
    if (EngineError error = ParseCase(*spec, &parsed)) return error;
    auto opened = std::make_unique<Case>(*engine->device, std::move(parsed));
    if (EngineError error = opened->Open()) return error;
    engine->open_case = std::move(opened);
    return {};
  });
}

void kb_case_close(kb_engine* engine) {
  if (engine != nullptr) engine->open_case.reset();
}

int32_t kb_operand_count(const kb_engine* engine) {
  if (engine == nullptr || !engine->open_case) return 0;
  return static_cast<int32_t>(engine->open_case->specs().size());
}

kb_status kb_operand(const kb_engine* engine, int32_t index, void** data, int64_t* bytes,
                     int32_t* is_output) {
  if (index < 0 || index >= kb_operand_count(engine)) return KB_INVALID_ARGUMENT;
  const auto& operands = engine->open_case->operands(0);
  const Buffer& buffer = operands.buffer(static_cast<std::size_t>(index));
  if (data != nullptr) *data = buffer.data;
  if (bytes != nullptr) *bytes = buffer.bytes;
  if (is_output != nullptr) {
    *is_output = operands.specs()[static_cast<std::size_t>(index)].output ? 1 : 0;
  }
  return KB_OK;
}

int32_t kb_operand_sets(const kb_engine* engine) {
  return engine == nullptr || !engine->open_case ? 0 : engine->open_case->sets();
}

kb_status kb_operand_of(const kb_engine* engine, int32_t set, int32_t index, void** data) {
  if (set < 0 || set >= kb_operand_sets(engine) || index < 0 || index >= kb_operand_count(engine) ||
      data == nullptr) {
    return KB_INVALID_ARGUMENT;
  }
  *data = engine->open_case->operands(set).buffer(static_cast<std::size_t>(index)).data;
  return KB_OK;
}

int32_t kb_current_set(const kb_engine* engine) {
  return engine == nullptr || !engine->open_case ? 0 : engine->open_case->current_set();
}

void* kb_stream(const kb_engine* engine) {
  return engine == nullptr ? nullptr : engine->device->stream();
}

kb_status kb_describe_operand(const kb_engine* engine, int32_t index, kb_operand_info* info) {
  if (info == nullptr || index < 0 || index >= kb_operand_count(engine)) {
    return KB_INVALID_ARGUMENT;
  }
  const kbench::OperandSpec& spec = engine->open_case->specs()[static_cast<std::size_t>(index)];
  if (spec.extents.size() > KB_MOST_EXTENTS) return KB_INVALID_ARGUMENT;
  *info = {};
  CopyText(spec.name, info->name, sizeof(info->name));
  CopyText(kbench::Info(spec.storage).name, info->dtype, sizeof(info->dtype));
  info->dims = static_cast<int32_t>(spec.extents.size());
  std::copy(spec.extents.begin(), spec.extents.end(), info->extents);
  info->is_output = spec.output ? 1 : 0;
  return KB_OK;
}

kb_status kb_resolve(const char* kernel, const char* dtype, const char* size, const char* mode,
                     kb_resolved* resolved) {
  if (kernel == nullptr || dtype == nullptr || size == nullptr || mode == nullptr ||
      resolved == nullptr) {
    return KB_INVALID_ARGUMENT;
  }
  *resolved = {};
  try {
    const auto problem = kbench::MakeProblem(kernel, dtype, size, mode);
    if (!problem) {
      CopyText(problem.error().reason, resolved->reason, sizeof(resolved->reason));
      CopyText(problem.error().message, resolved->message, sizeof(resolved->message));
      return KB_INVALID_ARGUMENT;
    }
    CopyText(problem->shape.Canonical(), resolved->shape, sizeof(resolved->shape));
    CopyText(kbench::ModeName(problem->mode), resolved->mode, sizeof(resolved->mode));
    return KB_OK;
  } catch (const std::exception&) {
    return KB_OUT_OF_MEMORY;  // the catalog throws nothing else
  }
}

kb_status kb_work(const char* kernel, const char* dtype, const char* shape, double* work) {
  return OnProblem(kernel, dtype, shape, work, [&](const kbench::Problem& problem) {
    *work = kbench::Work(problem);
    return KB_OK;
  });
}

kb_status kb_scaled_shape(const char* kernel, const char* dtype, const char* shape,
                          double most_work, char* out, size_t size) {
  return OnProblem(kernel, dtype, shape, out, [&](const kbench::Problem& problem) {
    const std::string scaled =
        kbench::FindKernel(problem.kernel)->scaled_down(problem, most_work).shape.Canonical();
    if (scaled.size() >= size) return KB_INVALID_ARGUMENT;
    CopyText(scaled, out, size);
    return KB_OK;
  });
}

kb_status kb_get_facts(const kb_engine* engine, kb_facts* facts) {
  if (engine == nullptr || facts == nullptr) return KB_INVALID_ARGUMENT;
  *facts = {};
  const kbench::engine::TimelineFacts timeline = engine->device->timeline().Facts();
  CopyText(timeline.mechanism, facts->mechanism, sizeof(facts->mechanism));
  facts->quantum_seconds = timeline.quantum_seconds;
  facts->flush_bytes = timeline.flush_bytes;
  facts->launches_per_sample = facts->operand_sets = 1;
  if (engine->open_case) {
    const Case& open_case = *engine->open_case;
    facts->footprint_bytes = kbench::FootprintBytes(open_case.problem());
    facts->launches_per_sample = open_case.launches_per_sample();
    facts->operand_sets = open_case.sets();
    facts->quantum_seconds /= facts->launches_per_sample;
    CopyText(open_case.mechanism(), facts->mechanism, sizeof(facts->mechanism));
  }
  facts->device_memory_bytes = engine->device->TotalBytes();
  facts->threads = engine->device->threads();
  return KB_OK;
}

kb_status kb_call(kb_engine* engine, kb_launch launch, void* user, double* seconds) {
  return RunOnCase(engine, launch, seconds, [&](Case& open_case) {
    return open_case.Call({launch, user, engine->device->stream()}, seconds);
  });
}

kb_status kb_verify(kb_engine* engine, int32_t stage, uint64_t seed, kb_launch launch, void* user,
                    kb_check* check) {
  return RunOnCase(engine, launch, check, [&](Case& open_case) {
    return open_case.Verify(stage, seed, {launch, user, engine->device->stream()}, check);
  });
}

kb_status kb_burst(kb_engine* engine, const kb_burst_spec* spec, kb_launch launch, void* user,
                   kb_burst_record* record) {
  return RunOnCase(engine, launch, record, [&](Case& open_case) -> EngineError {
    if (spec == nullptr) return {KB_INVALID_ARGUMENT, "the burst's specification is NULL"};
    return open_case.Burst(*spec, {launch, user, engine->device->stream()}, record);
  });
}

kb_status kb_time_callback(kb_launch launch, void* user, int32_t calls, double* seconds) {
  if (launch == nullptr || calls < 1 || seconds == nullptr) return KB_INVALID_ARGUMENT;
  const auto begin = std::chrono::steady_clock::now();
  for (int32_t i = 0; i < calls; ++i) {
    if (launch(user, nullptr) != 0) return KB_LAUNCH_FAILED;
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  *seconds = spent.count() / calls;
  return KB_OK;
}

kb_status kb_scratch_open(kb_engine* engine, void** data) {
  return Run(engine, [&]() -> EngineError {
    if (data == nullptr || !engine->open_case) {
      return {KB_INVALID_ARGUMENT,
              "a scratch output needs an open case and a place for the answer"};
    }
    return engine->open_case->OpenScratch(data);
  });
}

void kb_scratch_close(kb_engine* engine) {
  if (engine != nullptr && engine->open_case) engine->open_case->CloseScratch();
}

kb_status kb_trial(kb_engine* engine, const kb_burst_spec* spec, kb_launch launch, void* user,
                   kb_burst_record* record) {
  return RunOnCase(engine, launch, record, [&](Case& open_case) -> EngineError {
    if (spec == nullptr) return {KB_INVALID_ARGUMENT, "the burst's specification is NULL"};
    return open_case.Trial(*spec, {launch, user, engine->device->stream()}, record);
  });
}

kb_status kb_calibrate(kb_engine* engine, kb_calibration* calibration) {
  return Run(engine, [&]() -> EngineError {
    if (calibration == nullptr) return {KB_INVALID_ARGUMENT, "the calibration is NULL"};
    *calibration = {};
    if (engine->open_case) {
      return {KB_INVALID_ARGUMENT, "a case is open: call kb_case_close before a calibration"};
    }
    return engine->device->Calibrate(calibration);
  });
}

}  // extern "C"
