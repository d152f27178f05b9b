// kbench-worker: opens its device, starts its runners, and serves the coordinator until a signal.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/support/channel.h"
#include "proto/support/clock.h"
#include "proto/support/credentials.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/logging.h"
#include "proto/support/paths.h"
#include "proto/support/signals.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/folder_cap.h"
#include "worker/daemon/join.h"
#include "worker/daemon/python_runners.h"
#include "worker/daemon/session.h"
#include "worker/daemon/worker_options.h"
#include "worker/device/device_lock.h"
#include "worker/profile/tool.h"

namespace kbench {
namespace {

#ifndef KBENCH_VERSION
#define KBENCH_VERSION "unknown"
#endif

int Fail(const absl::Status& status, int code) {
  std::fprintf(stderr, "kbench-worker: %s\n", std::string(status.message()).c_str());
  return code;
}

std::string Hostname() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

std::string FileName(std::string key) {
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == ':' || c == '/' || c == ','; }, '-');
  return key;
}

v1::WorkerHello MakeHello(const DeviceFacts& facts, const std::string& name) {
  v1::WorkerHello hello;
  hello.set_worker_id(Hostname() + "/" + facts.key);
  hello.set_boot_id(RandomUuid());
  hello.set_version(KBENCH_VERSION);
  v1::Device& device = *hello.mutable_device();
  device = facts.device;
  device.set_name(name);
  device.set_hostname(Hostname());
  device.set_worker(hello.worker_id());
  return hello;
}

// Where compilers keep what they have compiled, unless the environment says so itself. Bounded
// before anything runs that could be reading there.
void UseCaches(const std::string& dir, std::int64_t most_bytes, std::vector<RunnerSpec>& specs) {
  constexpr std::pair<const char*, const char*> kCaches[] = {
      {"TRITON_CACHE_DIR", "/triton"}, {"TORCHINDUCTOR_CACHE_DIR", "/inductor"}};
  for (const auto& [variable, folder] : kCaches) {
    if (std::getenv(variable) != nullptr) continue;
    CapFolder(dir + folder, most_bytes);
    for (RunnerSpec& spec : specs) spec.env.try_emplace(variable, dir + folder);
  }
}

// Until nothing runs any more, for the grace at the most; a second signal ends it.
void DrainSession(Session& session, double grace_seconds) {
  session.Drain();
  const double end = SystemClock().SteadySeconds() + grace_seconds;
  if (session.busy() && grace_seconds > 0) {
    spdlog::info("stopping: the running case has {:.0f} s to end; a second signal hands it back",
                 grace_seconds);
  }
  while (session.busy() && SystemClock().SteadySeconds() < end) {
    if (PollTerminationSignal(0.1) != 0) return;
  }
}

absl::Status ServeUntilSignal(const StoredCredentials& coordinator, double grace_seconds,
                              const v1::WorkerHello& hello, Attempts* attempts,
                              DeviceMonitor* monitor, const DeviceCondition* condition) {
  Session::Options options;
  options.connect = [coordinator] {
    return MakeChannel(coordinator.address, coordinator.credentials);
  };
  options.address = coordinator.address;
  options.hello = hello;
  Session session(std::move(options), attempts, monitor, condition);
  absl::Status status;
  std::thread serving([&] {
    status = session.Run();
    // Wakes the wait below when the coordinator ended it.
    kill(getpid(), SIGTERM);
  });
  WaitForTerminationSignal();
  DrainSession(session, grace_seconds);
  session.Shutdown();
  serving.join();
  return status;
}

absl::Status Work(const WorkerOptions& options, const std::vector<PythonEnvironment>& environments,
                  const StoredCredentials& coordinator, OpenedDevice& device) {
  const std::string name = options.name.empty() ? device.facts.default_name : options.name;
  const std::string data = options.data_dir.empty() ? DataDir() : options.data_dir;
  const std::string mine = data + "/spool/" + FileName(device.facts.key);
  const std::string scratch = data + "/scratch/" + FileName(device.facts.key);
  KB_RETURN_IF_ERROR(EnsureWritableDir(data));
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);  // of a worker that was killed
  KB_RETURN_IF_ERROR(EnsureWritableDir(scratch));
  KB_ASSIGN_OR_RETURN(const auto spool, Spool::Open(mine, options.spool_bytes));

  RunnerPool::Options pool_options;
  pool_options.runners = RunnerSpecs(options, device.facts, ProgramDir(), getpid());
  PythonRunners python = MakePythonRunners(environments, device.facts, ProgramDir(), getpid());
  UseCaches(data + "/cache", options.cache_bytes, python.specs);
  pool_options.runners.insert(pool_options.runners.end(), python.specs.begin(), python.specs.end());
  pool_options.absent = std::move(python.absent);
  pool_options.device_kind = device.facts.device.kind();
  pool_options.spares = options.spares;
  pool_options.refill_at_once = false;  // the calibration comes first
  KB_ASSIGN_OR_RETURN(const auto pool, RunnerPool::Create(std::move(pool_options)));

  const v1::WorkerHello hello = MakeHello(device.facts, name);
  spdlog::info("device {}: {}, {} implementations of kernels, coordinator {}", name,
               device.facts.device.model(), pool->implementations().size(), coordinator.address);
  DeviceCondition condition;
  condition.SetOffer(OfferOf(*pool));
  ExecutorOptions executor_options;
  executor_options.condition = &condition;
  executor_options.store_path = data + "/calibration/" + FileName(device.facts.key) + ".json";
  executor_options.canaries = options.canaries;
  const v1::Device& about = device.facts.device;
  TuningStore tuning(data + "/tuning/" + FileName(device.facts.key) + ".json",
                     device.facts.key + "|" + about.uuid() + "|" + about.model() + "|" +
                         about.driver() + "|" + KBENCH_VERSION);
  if (options.retune) KB_RETURN_IF_ERROR(tuning.Forget());
  DriverContext& context = executor_options.context;
  context.pool = pool.get();
  context.monitor = device.monitor.get();
  context.facts = &device.facts;
  context.device_name = name;
  context.worker_name = hello.worker_id();
  context.hostname = Hostname();
  context.scratch_dir = scratch;
  context.tuning = &tuning;
  if (about.kind() == "cuda") {
    context.ncu = profile::FindNcu();
    context.disassembler = profile::FindDisassembler();
  }
  CaseExecutor executor(std::move(executor_options));
  Attempts attempts(&executor, spool.get());
  return ServeUntilSignal(coordinator, options.grace_seconds, hello, &attempts,
                          device.monitor.get(), &condition);
}

// Where the coordinator is, and what this worker shows it.
absl::StatusOr<StoredCredentials> ChooseCoordinator(const WorkerOptions& options) {
  StoredCredentials chosen;
  std::string server = options.server;
  if (server.empty()) {
    KB_ASSIGN_OR_RETURN(chosen, DefaultCredentials(WorkerCredentialsPath()));
    server = chosen.address.empty() ? DefaultSocketPath() : chosen.address;
  }
  KB_ASSIGN_OR_RETURN(chosen.address, NormalizeAddress(server));
  KB_ASSIGN_OR_RETURN(chosen.credentials, CredentialsFor(chosen.address, WorkerCredentialsPath()));
  return chosen;
}

int Main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // what its own lines say, ours say better
  if (argc > 1 && std::string(argv[1]) == "join") {
    return RunJoin(std::vector<std::string>(argv + 2, argv + argc));
  }
  WorkerOptions options;
  int exit_code = 0;
  if (!ParseWorkerOptions(argc, argv, &options, &exit_code)) return exit_code;
  BlockTerminationSignals();
  InitLogging("kbench-worker", options.log_level);
  const auto coordinator = ChooseCoordinator(options);
  if (!coordinator.ok()) {
    const bool usage = coordinator.status().code() == absl::StatusCode::kInvalidArgument;
    return Fail(coordinator.status(), usage ? kExitUsage : kExitInfra);
  }
  const auto environments = PythonEnvironments(options);
  if (!environments.ok()) return Fail(environments.status(), kExitUsage);
  auto device = OpenDevice(options.device);
  if (!device.ok()) {
    const bool usage = device.status().code() == absl::StatusCode::kInvalidArgument;
    return Fail(device.status(), usage ? kExitUsage : kExitInfra);
  }
  const auto lock = DeviceLock::Take(device->facts.lock_keys);
  if (!lock.ok()) {
    const bool held = lock.status().code() == absl::StatusCode::kResourceExhausted;
    return Fail(lock.status(), held ? kExitDeviceHeld : kExitInfra);
  }
  const absl::Status status = Work(options, *environments, *coordinator, *device);
  return status.ok() ? kExitOk : Fail(status, kExitInfra);
}

}  // namespace
}  // namespace kbench

int main(int argc, char** argv) { return kbench::Main(argc, argv); }
