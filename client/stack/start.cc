#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"
#include "client/stack/daemon.h"
#include "client/stack/gpus.h"
#include "client/stack/health.h"
#include "client/stack/layout.h"
#include "client/stack/local_stack.h"
#include "proto/support/clock.h"
#include "proto/support/credentials.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench::client {
namespace {

using kbench::v1::Device;
using kbench::v1::ListDevicesResponse;

constexpr int kMetricsPort = 7601;
constexpr char kCudaRunner[] = "kbench-runner-cuda";
constexpr char kCalibrating[] = "CALIBRATING";
constexpr double kPollSeconds = 0.02;
// A worker that finds its device taken ends within this time.
constexpr double kRefusalSeconds = 0.1;

// A worker holds the lock files of its device open as long as it lives. That tells ours from
// another one that offers a device of the same name. As worker/device/device_lock.h names them.
std::string LockFileOf(const Device& device) {
  std::string key = device.uuid();
  if (key.empty()) {
    const auto cpus = device.settings().find("cpus");
    const std::string list = cpus == device.settings().end() ? "" : cpus->second;
    key = "cpu" + list.substr(0, list.find_first_not_of("0123456789"));
  }
  return "kbench-" + key + ".lock";
}

bool PortIsFree(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return free;
}

absl::Status CheckFolders() {
  auto address = NormalizeAddress("unix:" + DefaultSocketPath());
  if (!address.ok()) return address.status();
  KB_RETURN_IF_ERROR(EnsureWritableDir(RuntimeDir()));
  struct stat info {};
  if (stat(RuntimeDir().c_str(), &info) == 0 && info.st_uid != getuid()) {
    return absl::PermissionDeniedError(fmt::format(
        "{} belongs to another user; set XDG_RUNTIME_DIR to a folder of your own", RuntimeDir()));
  }
  KB_RETURN_IF_ERROR(EnsureWritableDir(DataDir()));
  return EnsureWritableDir(LogDir());
}

absl::Status CheckPrograms() {
  for (const char* program : {kServerProgram, kWorkerProgram}) {
    const std::string path = ProgramDir() + "/" + program;
    if (access(path.c_str(), X_OK) != 0) {
      return absl::NotFoundError(fmt::format(
          "{} is missing; it belongs beside kbench-client: build or install both", path));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> DefaultDevices() {
  std::vector<std::string> devices;
  if (access((ProgramDir() + "/" + kCudaRunner).c_str(), X_OK) == 0) {
    const int gpus = CountGpus();
    for (int i = 0; i < gpus; ++i) devices.push_back(std::to_string(i));
  }
  if (devices.empty()) devices.emplace_back("cpu");
  return devices;
}

class Starter {
 public:
  Starter(Context& context, const UpOptions& options)
      : context_(context), io_(context.io), options_(options) {}

  int Run() {
    absl::Status status = CheckFolders();
    if (status.ok()) status = CheckPrograms();
    if (!status.ok()) return Fail(status);
    give_up_at_ = SystemClock().SteadySeconds() + options_.timeout_seconds;
    int code = StartServer();
    for (const std::string& device :
         options_.devices.empty() ? DefaultDevices() : options_.devices) {
      if (code == kExitOk) code = StartWorker(device);
    }
    if (code == kExitOk) {
      io_.out << "logs are in " << LogDir() << "; stop the stack with: kbench-client down\n";
      SayWhereVerbsGo();
    } else {
      SayWhatRuns();
    }
    return code;
  }

 private:
  // Who has joined a coordinator asks that one, and may wonder where this stack's devices are.
  void SayWhereVerbsGo() {
    const char* set = std::getenv("KBENCH_SERVER");
    const std::string here = "unix:" + DefaultSocketPath();
    const auto joined = DefaultCredentials(ClientCredentialsPath());
    std::string where;
    if (set != nullptr && *set != '\0') {
      if (set != here) where = std::string(set) + ", which KBENCH_SERVER names";
    } else if (joined.ok() && !joined->address.empty()) {
      where = joined->address + ", which you have joined";
    }
    if (where.empty()) return;
    io_.out << Plain(fmt::format("verbs go to {}; to this stack with: export KBENCH_SERVER={}",
                                 where, here))
            << "\n";
  }

  // Nothing that was started is left behind in silence.
  void SayWhatRuns() {
    std::string text;
    for (const auto& [what, daemon] : daemons_) {
      if (daemon.Ended()) continue;
      text += fmt::format("{}{} (pid {})", text.empty() ? "" : ", ", what, daemon.pid());
    }
    if (text.empty()) return;
    io_.err << "kbench-client: still running: " << text << "; stop with: kbench-client down\n"
            << std::flush;
  }

  const Daemon& Keep(const std::string& what, Daemon daemon) {
    return daemons_.emplace_back(what, std::move(daemon)).second;
  }

  int Fail(const absl::Status& status) {
    ReportError(io_, status);
    return kExitInfrastructure;
  }

  // The last lines of the log say more than any guess.
  int FailWithLog(const std::string& what, const std::string& log_path) {
    io_.err << "kbench-client: " << what << "; the end of " << log_path << ":\n";
    for (const std::string& line : LastLines(log_path, 8)) io_.err << "  " << Plain(line) << "\n";
    io_.err.flush();
    return kExitInfrastructure;
  }

  bool TimeIsUp() const { return SystemClock().SteadySeconds() > give_up_at_; }

  std::string MetricsListen() {
    if (!options_.metrics_listen.empty()) return options_.metrics_listen;
    if (PortIsFree(kMetricsPort)) return fmt::format("127.0.0.1:{}", kMetricsPort);
    io_.out << fmt::format("port {} is taken: the metrics go to a free one\n", kMetricsPort);
    return "127.0.0.1:0";
  }

  int StartServer() {
    auto running = FindDaemon(ServerPidPath(), kServerProgram);
    if (!running.ok()) return Fail(running.status());
    const bool ran = running->has_value();
    const std::string socket = "unix:" + DefaultSocketPath();
    if (!ran && Connect(socket).ok()) {
      return Fail(absl::FailedPreconditionError(fmt::format(
          "{} is in use by a process that `kbench-client up` did not start; stop that one first",
          socket)));
    }
    const DaemonSpec spec = ServerSpec(ran ? "" : MetricsListen());
    if (!ran) {
      auto started = StartDaemon(spec);
      if (!started.ok()) return Fail(started.status());
      running->emplace(*std::move(started));
    }
    const Daemon& server = Keep("coordinator", *std::move(*running));
    while (!Serving()) {
      if (server.Ended()) return FailWithLog("kbench-server ended at once", spec.log_path);
      if (TimeIsUp()) {
        return FailWithLog(
            fmt::format("kbench-server does not answer after {:.0f} s", options_.timeout_seconds),
            spec.log_path);
      }
      context_.interrupt.Sleep(kPollSeconds);
    }
    const ServerNote note = ReadServerNote();
    io_.out << fmt::format("coordinator {} (pid {}) on {}{}\n", ran ? "already runs" : "started",
                           server.pid(), socket,
                           note.metrics.empty() || note.pid != server.pid()
                               ? ""
                               : ", metrics on http://" + note.metrics + "/metrics")
            << std::flush;
    return kExitOk;
  }

  bool Serving() {
    auto backend = Connect("unix:" + DefaultSocketPath());
    if (!backend.ok() || !IsServing(backend->channel, 2)) return false;
    backend_.emplace(*std::move(backend));
    return true;
  }

  int StartWorker(const std::string& device) {
    const DaemonSpec spec = WorkerSpec(device);
    auto running = FindDaemon(spec.pid_path, kWorkerProgram);
    if (!running.ok()) return Fail(running.status());
    const bool ran = running->has_value();
    if (!ran) {
      auto started = StartDaemon(spec);
      if (!started.ok()) return Fail(started.status());
      running->emplace(*std::move(started));
    }
    const Daemon& worker = Keep("worker of " + device, *std::move(*running));
    Device seen;
    while (!IsUp(worker, device, &seen)) {
      if (worker.Ended()) {
        return FailWithLog(fmt::format("the worker of {} ended at once", device), spec.log_path);
      }
      if (seen.state() == "FAILED" || TimeIsUp()) {
        const std::string state =
            seen.state().empty()
                ? "not connected"
                : seen.state() + (seen.state_message().empty() ? "" : ": ") + seen.state_message();
        return FailWithLog(fmt::format("the worker of {} is not ready ({})", device, Plain(state)),
                           spec.log_path);
      }
      context_.interrupt.Sleep(kPollSeconds);
    }
    io_.out << fmt::format("worker {} (pid {}) for {}: {}, {} implementations{}\n",
                           ran ? "already runs" : "started", worker.pid(), seen.name(),
                           Plain(seen.model().empty() ? seen.kind() : seen.model()),
                           seen.implementations_size(),
                           seen.state() == kCalibrating ? "; it calibrates first, jobs wait" : "")
            << std::flush;
    return kExitOk;
  }

  // `seen` holds the device of this very worker as last listed. One that calibrates takes jobs,
  // which wait until it is done.
  bool IsUp(const Daemon& worker, const std::string& device, Device* seen) {
    const auto reply = Unary<ListDevicesResponse>(
        *backend_, [&](grpc::ClientContext* call, ListDevicesResponse* out) {
          return backend_->devices->ListDevices(call, {}, out);
        });
    if (!reply.ok()) return false;
    for (const Device& one : reply->devices()) {
      if (one.name() != DeviceName(device) && one.uuid() != device) continue;
      if (!worker.HasOpen(LockFileOf(one)) || worker.Ended(kRefusalSeconds)) return false;
      *seen = one;
      static const std::set<std::string> up = {"READY",    "BUSY",    "HELD",       kCalibrating,
                                               "DRAINING", "DRAINED", "QUARANTINED"};
      return up.count(one.state()) > 0;
    }
    return false;
  }

  Context& context_;
  Io& io_;
  const UpOptions options_;
  std::optional<Backend> backend_;
  double give_up_at_ = 0;
  std::deque<std::pair<std::string, Daemon>> daemons_;  // started or found, with what they are
};

}  // namespace

int StartStack(Context& context, const UpOptions& options) {
  return Starter(context, options).Run();
}

}  // namespace kbench::client
