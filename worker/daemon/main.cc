// kbench-worker: opens its device, starts its runners, and serves the coordinator until a signal.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/logging.h"
#include "proto/support/paths.h"
#include "proto/support/signals.h"
#include "proto/support/utf8.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/coordinator_address.h"
#include "worker/daemon/device_identity.h"
#include "worker/daemon/folder_cap.h"
#include "worker/daemon/held_command.h"
#include "worker/daemon/join.h"
#include "worker/daemon/kept_bytes.h"
#include "worker/daemon/offline.h"
#include "worker/daemon/python_runners.h"
#include "worker/daemon/session.h"
#include "worker/daemon/worker_options.h"
#include "worker/device/device_lock.h"
#include "worker/device/nvml_library.h"
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

// Set by the session: this program is to be started again in its place.
std::atomic<bool> start_again = false;

v1::WorkerHello MakeHello(const std::string& key, const v1::Device& about, const std::string& name,
                          const Labels& labels) {
  v1::WorkerHello hello;
  hello.set_worker_id(Hostname() + "/" + key);
  hello.set_boot_id(RandomUuid());
  hello.set_version(KBENCH_VERSION);
  v1::Device& device = *hello.mutable_device();
  device = about;
  device.mutable_labels()->insert(labels.begin(), labels.end());
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

// Where this worker of the device writes; workers that share a data folder share the caches.
std::map<std::string, std::string> PlacesIn(const std::string& data, const std::string& key) {
  return {{"spool", data + "/spool/" + FileName(key)},
          {"caches", data + "/cache"},
          {"scratch", data + "/scratch/" + FileName(key)},
          {"tuning", data + "/tuning/" + FileName(key) + ".json"}};
}

absl::Status ServeUntilSignal(const CoordinatorAddress& coordinator, double grace_seconds,
                              const v1::WorkerHello& hello, KeptBytes kept, Attempts* attempts,
                              DeviceMonitor* monitor, DeviceCondition* condition) {
  Session::Options options;
  options.connect = coordinator.Connector();
  options.address = coordinator.address;
  options.hello = hello;
  options.kept = std::move(kept);
  options.start_again = [] {
    spdlog::info("the driver fits its library again: starting anew");
    start_again = true;
    kill(getpid(), SIGTERM);
  };
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

// The device's driver was upgraded and the machine not restarted: says so until it fits again.
absl::Status WorkOffline(const WorkerOptions& options, const Labels& labels,
                         const CoordinatorAddress& coordinator, const v1::Device& identity,
                         const std::string& message) {
  const std::string data = options.data_dir.empty() ? DataDir() : options.data_dir;
  KB_RETURN_IF_ERROR(EnsureWritableDir(data));
  KB_ASSIGN_OR_RETURN(const auto spool, Spool::Open(PlacesIn(data, identity.uuid()).at("spool")));
  const auto nvml = Nvml::Load(kNvmlLibrary);
  const std::string library = nvml.ok() ? (*nvml)->path : "";
  OfflineMonitor monitor([&options] { return OpenDevice(options.device).status(); },
                         [library] { return ReadDriverVersions(library); }, message);
  DeviceCondition condition;
  condition.SetMismatch(message);
  OfflineRunner runner;
  Attempts attempts(&runner, spool.get());
  spdlog::error("device {}: {}", identity.name(), message);
  const v1::WorkerHello hello = MakeHello(identity.uuid(), identity, identity.name(), labels);
  return ServeUntilSignal(coordinator, 0, hello, KeptBytes(PlacesIn(data, identity.uuid())),
                          &attempts, &monitor, &condition);
}

absl::Status Work(const WorkerOptions& options, const std::vector<PythonEnvironment>& environments,
                  const Labels& labels, const CoordinatorAddress& coordinator,
                  OpenedDevice& device) {
  const std::string name = options.name.empty() ? device.facts.default_name : options.name;
  const std::string data = options.data_dir.empty() ? DataDir() : options.data_dir;
  std::map<std::string, std::string> places = PlacesIn(data, device.facts.key);
  const std::string scratch = places.at("scratch");
  KB_RETURN_IF_ERROR(EnsureWritableDir(data));
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);  // of a worker that was killed
  KB_RETURN_IF_ERROR(EnsureWritableDir(scratch));
  KB_ASSIGN_OR_RETURN(const auto spool, Spool::Open(places.at("spool"), options.spool_bytes));

  RunnerPool::Options pool_options;
  pool_options.runners = RunnerSpecs(options, device.facts, ProgramDir(), getpid());
  PythonRunners python = MakePythonRunners(environments, device.facts, ProgramDir(), getpid());
  UseCaches(places.at("caches"), options.cache_bytes, python.specs);
  pool_options.runners.insert(pool_options.runners.end(), python.specs.begin(), python.specs.end());
  pool_options.absent = std::move(python.absent);
  pool_options.device_kind = device.facts.device.kind();
  pool_options.spares = options.spares;
  pool_options.refill_at_once = false;  // the calibration comes first
  KB_ASSIGN_OR_RETURN(const auto pool, RunnerPool::Create(std::move(pool_options)));

  const v1::WorkerHello hello = MakeHello(device.facts.key, device.facts.device, name, labels);
  spdlog::info("device {}: {}, {} implementations of kernels, coordinator {}", name,
               device.facts.device.model(), pool->implementations().size(), coordinator.address);
  DeviceCondition condition;
  const v1::Offer offer = OfferOf(*pool);
  condition.SetOffer(offer);
  if (device.facts.device.kind() == "cuda") {
    v1::Device identity = hello.device();
    *identity.mutable_implementations() = offer.implementations();
    const absl::Status saved = SaveIdentity(data, options.device, identity);
    if (!saved.ok()) spdlog::warn("{}", std::string(saved.message()));
  }
  ExecutorOptions executor_options;
  executor_options.condition = &condition;
  executor_options.store_path = data + "/calibration/" + FileName(device.facts.key) + ".json";
  executor_options.canaries = options.canaries;
  const v1::Device& about = device.facts.device;
  TuningStore tuning(places.at("tuning"), device.facts.key + "|" + about.uuid() + "|" +
                                              about.model() + "|" + about.driver() + "|" +
                                              KBENCH_VERSION);
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
  return ServeUntilSignal(coordinator, options.grace_seconds, hello, KeptBytes(std::move(places)),
                          &attempts, device.monitor.get(), &condition);
}

// In this process's place, with the same arguments; returns when that fails.
int StartAgain(char** argv) {
  while (PollTerminationSignal(0) != 0) {  // would be the new one's
  }
  execv("/proc/self/exe", argv);
  return Fail(absl::UnavailableError("cannot start anew"), kExitInfra);
}

int FailToHold(const absl::Status& status) {
  const bool held = status.code() == absl::StatusCode::kResourceExhausted;
  return Fail(status, held ? kExitDeviceHeld : kExitInfra);
}

int MainOffline(const WorkerOptions& options, const Labels& labels,
                const CoordinatorAddress& coordinator, const absl::Status& mismatch) {
  const std::string data = options.data_dir.empty() ? DataDir() : options.data_dir;
  const auto identity = LoadIdentity(data, options.device, options.name);
  if (!identity.ok()) {
    return Fail(absl::UnavailableError(MessageOf(mismatch) + "; " + MessageOf(identity.status())),
                kExitInfra);
  }
  const auto lock = DeviceLock::Take({identity->uuid()});
  if (!lock.ok()) return FailToHold(lock.status());
  const absl::Status status =
      WorkOffline(options, labels, coordinator, *identity, MessageOf(mismatch));
  return status.ok() ? kExitOk : Fail(status, kExitInfra);
}

int MainOf(const WorkerOptions& options) {
  const auto coordinator = ChooseCoordinator(options);
  if (!coordinator.ok()) {
    const bool usage = coordinator.status().code() == absl::StatusCode::kInvalidArgument;
    return Fail(coordinator.status(), usage ? kExitUsage : kExitInfra);
  }
  const auto environments = PythonEnvironments(options);
  if (!environments.ok()) return Fail(environments.status(), kExitUsage);
  const auto labels = DeviceLabels(options);
  if (!labels.ok()) return Fail(labels.status(), kExitUsage);
  auto device = OpenDevice(options.device);
  if (IsDriverMismatch(device.status())) {
    return MainOffline(options, *labels, *coordinator, device.status());
  }
  if (!device.ok()) {
    const bool usage = device.status().code() == absl::StatusCode::kInvalidArgument;
    return Fail(device.status(), usage ? kExitUsage : kExitInfra);
  }
  const auto lock = DeviceLock::Take(device->facts.lock_keys);
  if (!lock.ok()) return FailToHold(lock.status());
  const absl::Status status = Work(options, *environments, *labels, *coordinator, *device);
  return status.ok() ? kExitOk : Fail(status, kExitInfra);
}

int Main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // what its own lines say, ours say better
  QuietProtobuf();
  if (const absl::Status text = CheckWords({argv + 1, argv + argc}); !text.ok()) {
    return Fail(text, kExitUsage);
  }
  if (argc > 1 && std::string(argv[1]) == "join") {
    return RunJoin(std::vector<std::string>(argv + 2, argv + argc));
  }
  WorkerOptions options;
  int exit_code = 0;
  if (!ParseWorkerOptions(argc, argv, &options, &exit_code)) return exit_code;
  BlockTerminationSignals();
  InitLogging("kbench-worker", options.log_level);
  exit_code = MainOf(options);
  return start_again && exit_code == kExitOk ? StartAgain(argv) : exit_code;
}

}  // namespace
}  // namespace kbench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == kbench::kHeldCommandFlag) {
    return kbench::RunHeldCommand(arguments);
  }
  return kbench::Main(argc, argv);
}
