#include "tests/worker/runner/fixtures.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/catalog/catalog.h"

namespace kbench {
namespace {

using namespace std::chrono_literals;

constexpr int kReplyFd = 4;
constexpr int kLateLaunch = 25;

struct State {
  Problem problem;
  OperandPointers operands;
  int launches = 0;               // this one included
  std::vector<float> cache = {};  // of one that computes once
  std::vector<std::jthread> threads = {};

  float* output() const { return static_cast<float*>(operands.output); }
  const float* input(std::size_t i) const { return static_cast<const float*>(operands.inputs[i]); }
  std::int64_t OutputElements() const {
    return FindKernel(problem.kernel)->operands(problem).back().elements();
  }
};

float Exactly(float value) { return value; }

// As a tensor core sees an fp32 operand: ten bits of mantissa, the rest cut off.
float AsTf32(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= ~((std::uint32_t{1} << 13) - 1);
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The right answer, in double and one element after the other, if the operands are seen exactly.
void Compute(const State& state, float (*see)(float) = Exactly) {
  const Shape& shape = state.problem.shape;
  if (state.problem.kernel == "sum") {
    double sum = 0;
    for (std::int64_t i = 0; i < shape["n"]; ++i) sum += see(state.input(0)[i]);
    state.output()[0] = static_cast<float>(sum);
    return;
  }
  const std::int64_t m = shape["m"], n = shape["n"], k = shape["k"];
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(see(state.input(0)[i * k + l])) * see(state.input(1)[l * n + j]);
      }
      state.output()[i * n + j] = static_cast<float>(sum);
    }
  }
}

void FillOutput(const State& state, float value) {
  for (std::int64_t i = 0; i < state.OutputElements(); ++i) state.output()[i] = value;
}

// Writes raw bytes among the frames, as a stray write of a library would.
void WriteAmongFrames(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(kReplyFd, text.data() + done, text.size() - done);
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

int Right(State& state) {
  Compute(state);
  return 0;
}
void Die() {
  std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit code
  std::raise(SIGSEGV);
}
int Crash(State& state) {
  if (state.launches >= 2) Die();
  return Right(state);
}
int CrashLate(State& state) {
  if (state.launches >= kLateLaunch) Die();
  return Right(state);
}
int Hang(State&) {
  while (true) std::this_thread::sleep_for(1h);
}
int Wrong(State& state) {
  Compute(state);
  state.output()[0] = state.output()[0] * 1.5f + 1;
  return 0;
}
int Tf32(State& state) {
  Compute(state, AsTf32);
  return 0;
}
int NotANumber(State& state) {
  Compute(state);
  state.output()[0] = std::numeric_limits<float>::quiet_NaN();
  return 0;
}
int Zeros(State& state) {
  FillOutput(state, 0);
  return 0;
}
int BadFrame(State& state) {
  WriteAmongFrames("{\"id\": this is no frame\n");
  return Right(state);
}
int HugeFrame(State& state) {
  WriteAmongFrames(std::string(3 << 19, 'x') + "\n");
  return Right(state);
}
int NanFrame(State& state) {
  WriteAmongFrames("{\"id\":\"1\",\"prepared\":{\"firstCallSeconds\":\"NaN\"}}\n");
  return Right(state);
}
int Fails(State&) { return 42; }
// The work is done and right; the status alone tells that something went wrong.
int FailsLate(State& state) {
  Compute(state);
  return state.launches >= kLateLaunch ? 42 : 0;
}
// Leaves what the last launch left.
int Stale(State& state) { return state.launches >= kLateLaunch ? 0 : Right(state); }
// Computes once and hands out its own copy from then on.
int Caches(State& state) {
  const auto count = static_cast<std::size_t>(state.OutputElements());
  if (state.cache.empty()) {
    Compute(state);
    state.cache.assign(state.output(), state.output() + count);
  }
  std::copy(state.cache.begin(), state.cache.end(), state.output());
  return 0;
}
// Returns at once and lets a thread do the work: what a side stream is on a GPU.
int SideThread(State& state) {
  state.threads.emplace_back([&state] {
    std::this_thread::sleep_for(100ms);
    Compute(state);
  });
  return 0;
}
// Out of a launch that may not throw: the process ends.
int ThrowsLate(State& state) {
  if (state.launches >= kLateLaunch) {
    std::signal(SIGABRT, SIG_DFL);
    throw std::runtime_error("thrown by the fixture's launch on purpose");
  }
  return Right(state);
}
int HangLate(State& state) { return state.launches >= kLateLaunch ? Hang(state) : Right(state); }
int Overrun(State& state) {
  Compute(state);
  state.output()[state.OutputElements()] = 0;
  return 0;
}
int Mutates(State& state) {
  Compute(state);
  const_cast<float*>(state.input(0))[0] += 1;
  return 0;
}
int Noisy(State& state) {
  const std::string line(1023, '#');
  for (int i = 0; state.launches == 1 && i < 4096; ++i) {
    std::fprintf(stdout, "%s\n", line.c_str());
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stdout);
  return Right(state);
}
int Slow(State& state) {
  std::this_thread::sleep_for(100ms);
  return Right(state);
}

using LaunchFunction = int (*)(State&);

class FixtureInstance final : public Instance {
 public:
  FixtureInstance(const Problem& problem, const OperandPointers& operands, LaunchFunction launch)
      : state_{problem, operands}, launch_(launch) {}
  int Launch(void*) noexcept override {
    ++state_.launches;
    return launch_(state_);
  }
  std::string ErrorText(int error) const override {
    return "the fixture fails on purpose (" + std::to_string(error) + ")";
  }
  std::map<std::string, std::string> Configuration() const override { return {{"fixture", "yes"}}; }

 private:
  State state_;
  const LaunchFunction launch_;
};

using Created = Expected<std::unique_ptr<Instance>, ImplementationError>;

template <LaunchFunction launch>
Created Create(const Problem& problem, const OperandPointers& operands, const DeviceContext&) {
  return std::unique_ptr<Instance>(new FixtureInstance(problem, operands, launch));
}

Created CreateOutOfMemory(const Problem&, const OperandPointers&, const DeviceContext&) {
  return ImplementationError{ImplementationError::Kind::kOutOfMemory,
                             "the workspace needs 1 PiB and there is less", std::int64_t{1} << 50};
}

Created CreateThrowing(const Problem&, const OperandPointers&, const DeviceContext&) {
  throw std::runtime_error("thrown by the fixture on purpose");
}

std::vector<Implementation> MakeTable() {
  const std::vector<std::pair<std::string, decltype(Implementation::create)>> fixtures = {
      {"right", Create<Right>},
      {"crash", Create<Crash>},
      {"crash-late", Create<CrashLate>},
      {"hang", Create<Hang>},
      {"wrong", Create<Wrong>},
      {"tf32", Create<Tf32>},
      {"nan", Create<NotANumber>},
      {"zeros", Create<Zeros>},
      {"oom", CreateOutOfMemory},
      {"bad-frame", Create<BadFrame>},
      {"huge-frame", Create<HugeFrame>},
      {"nan-frame", Create<NanFrame>},
      {"fails", Create<Fails>},
      {"fails-late", Create<FailsLate>},
      {"hang-late", Create<HangLate>},
      {"throws", CreateThrowing},
      {"throws-late", Create<ThrowsLate>},
      {"stale", Create<Stale>},
      {"caches", Create<Caches>},
      {"side-thread", Create<SideThread>},
      {"overrun", Create<Overrun>},
      {"mutates", Create<Mutates>},
      {"noisy-stdout", Create<Noisy>},
      {"slow", Create<Slow>},
  };
  std::vector<Implementation> table;
  for (const char* kernel : {"sum", "matmul"}) {
    for (const auto& [name, create] : fixtures) {
      Implementation implementation;
      implementation.name = "fixture/" + name;
      implementation.family = "fixture";
      implementation.kernel = kernel;
      implementation.summary = "misbehaves on purpose: " + name;
      implementation.dtypes = {DType::kFp32};
      implementation.create = create;
      table.push_back(implementation);
    }
  }
  return table;
}

}  // namespace

const std::vector<Implementation>& FixtureTable() {
  static const std::vector<Implementation> table = MakeTable();
  return table;
}

}  // namespace kbench
