// with: run a command while a device is nobody else's, here or on the worker's host.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <utility>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/hold/hold_loop.h"
#include "client/hold/local_command.h"
#include "client/hold/remote_command.h"
#include "client/hold/turn.h"
#include "client/output/text_table.h"
#include "proto/support/cpu_list.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/mutex.h"
#include "proto/support/utf8.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Device;

constexpr char kHelp[] =
    "Write the command behind --: with gpu0 --for 30m -- python train.py\n"
    "Exit codes: those of CMD (128 + the signal that ended it). Of kbench itself, with a line\n"
    "  on standard error: 2 wrong use;  5 kbench or the machine failed;  6 it never got its\n"
    "  turn;  7 cancelled;  75 the queue is full, try again;  126 CMD cannot be run;\n"
    "  127 there is no such program;  130 Ctrl-C while it waited.";

std::string Hostname() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

absl::StatusOr<Device> FindDevice(const Backend& backend, const std::string& name) {
  kbench::v1::GetDeviceRequest request;
  request.set_name(name);
  return Unary<Device>(backend, [&](grpc::ClientContext* call, Device* reply) {
    return backend.devices->GetDevice(call, request, reply);
  });
}

// From its construction on signals are the command's own business: those that the terminal types
// reach it by themselves, for it is in the same foreground; others are passed on, and wait until it
// is there.
class PassedSignals {
 public:
  explicit PassedSignals(Interrupt& interrupt)
      : diversion_(std::in_place, interrupt, [this](int signal, bool typed) {
          if (!typed) Take(signal);
        }) {
    // What came just before this one was nobody's yet.
    if (interrupt.fired()) Take(SIGINT);
  }

  void PassTo(LocalCommand& command) {
    MutexLock lock(mutex_);
    command_ = &command;
    if (waiting_ != 0) command.Signal(waiting_);
  }
  // The command outlives this call.
  void Stop() { diversion_.reset(); }

 private:
  void Take(int signal) {
    MutexLock lock(mutex_);
    waiting_ = signal;
    if (command_ != nullptr) command_->Signal(signal);
  }

  Mutex mutex_;
  LocalCommand* command_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Interrupt::Diversion> diversion_;  // ends first: its calls use the others
};

class With final : public Command {
 public:
  std::string name() const override { return "with"; }
  std::string help() const override {
    return "Run a command with a device: with gpu0 --for 30m -- CMD";
  }

  void Declare(Arguments& arguments) override {
    arguments.Rest(&command_);
    asked_.Declare(arguments);
    arguments.Flag("--remote", &remote_,
                   "Run CMD on the worker's host, in an empty folder of its own");
    arguments.Repeated("--setenv", &variables_, "NAME=VALUE", "With --remote: a variable for CMD");
    arguments.Footer(kHelp);
  }

  int Run(Context& context) override {
    auto spec = asked_.Spec();
    if (!spec.ok()) return ReportError(context.io, spec.status());
    if (command_.empty()) {
      return ReportUsage(context.io, "with: a command is missing; write: with " + asked_.device +
                                         " --for 30m -- CMD ...");
    }
    spec->mutable_hold()->set_attached(true);
    if (const int code = remote_ ? AddCommand(context, *spec) : CheckProgram(context); code != 0) {
      return code;
    }
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    // Told before the wait, not after it.
    const auto device = FindDevice(*backend, asked_.device);
    if (!remote_ && device.ok() && !IsHere(device->hostname())) {
      return RefuseElsewhere(context, device->name(), device->hostname());
    }
    const Interrupt::Hook here(context.interrupt, [] {});
    const Turn turn = TakeTurn(context, *backend, *std::move(spec));
    if (turn.code != 0) return turn.code;
    if (remote_) return FollowRemote(context, *backend, turn);
    return turn.begun ? RunHere(context, *backend, turn) : kExitInfrastructure;
  }

 private:
  int AddCommand(Context& context, kbench::v1::JobSpec& spec) const {
    const absl::Status text = CheckWords(command_);
    if (!text.ok()) return ReportUsage(context.io, "with --remote: " + MessageOf(text));
    for (const std::string& word : command_) spec.mutable_hold()->add_command(word);
    for (const std::string& variable : variables_) {
      const std::size_t equals = variable.find('=');
      if (equals == std::string::npos || equals == 0) {
        return ReportUsage(context.io,
                           "setenv: '" + variable + "' is no variable; write NAME=VALUE");
      }
      (*spec.mutable_hold()->mutable_environment())[variable.substr(0, equals)] =
          variable.substr(equals + 1);
    }
    return 0;
  }

  int CheckProgram(Context& context) const {
    if (!variables_.empty()) {
      return ReportUsage(context.io,
                         "setenv: only with --remote; here CMD has this shell's variables");
    }
    if (ProgramExists(command_.front())) return 0;
    context.io.err << "kbench-client: there is no program " << Plain(command_.front()) << " here"
                   << std::endl;
    return kExitNotFound;
  }

  static bool IsHere(const std::string& host) { return host.empty() || host == Hostname(); }

  int RefuseElsewhere(Context& context, const std::string& device, const std::string& host) const {
    return ReportUsage(
        context.io,
        fmt::format("device {} is on host {}, this is {}: let its worker run the command with "
                    "--remote, or log in there and use `kbench-client with` or `hold`",
                    device, host, Hostname()));
  }

  int RunHere(Context& context, const Backend& backend, const Turn& turn) const {
    const CaseStatus& place = PlaceOf(turn.job);
    if (context.interrupt.fired() || !IsHere(place.hostname())) {
      EndHold(context, backend, turn.job.name(), kExitInterrupted);
      if (context.interrupt.fired()) return kExitInterrupted;
      return RefuseElsewhere(context, place.device(), place.hostname());
    }
    std::vector<int> cpus;
    const auto variables = Variables(backend, turn, &cpus);
    context.io.err << "kbench-client: " << BegunText(turn) << std::endl;
    HoldLoop loop(context, backend, turn);
    PassedSignals signals(context.interrupt);
    auto command = LocalCommand::Start(command_, variables, cpus, [&loop] { loop.Wake(); });
    if (!command.ok()) {
      const int code = absl::IsNotFound(command.status()) ? kExitNotFound : kExitNotRun;
      EndHold(context, backend, turn.job.name(), code);
      context.io.err << "kbench-client: " << command.status().message() << std::endl;
      return code;
    }
    signals.PassTo(**command);
    return Attend(context, backend, turn, loop, signals, **command);
  }

  static int Attend(Context& context, const Backend& backend, const Turn& turn, HoldLoop& loop,
                    PassedSignals& signals, LocalCommand& command) {
    const HoldLoop::Ended ended = loop.Run({[&] { return command.code() >= 0; },
                                            [&] { command.Terminate(); }, [&] { command.Kill(); }});
    signals.Stop();
    // Whatever the command has started must not be on the device when the next one is.
    if (ended != HoldLoop::Ended::kDone) command.Kill();
    if (ended == HoldLoop::Ended::kLost) return ExplainLoss(context, backend, turn.job.name());
    EndHold(context, backend, turn.job.name(), command.code());
    return command.code();
  }

  static std::map<std::string, std::string> Variables(const Backend& backend, const Turn& turn,
                                                      std::vector<int>* cpus) {
    const CaseStatus& place = PlaceOf(turn.job);
    std::map<std::string, std::string> variables = {{"CUDA_VISIBLE_DEVICES", place.device_uuid()},
                                                    {"KBENCH_JOB", JobId(turn.job.name())},
                                                    {"KBENCH_DEVICE", place.device()}};
    const auto device = FindDevice(backend, place.device());
    if (!device.ok() || device->kind() != "cpu") {
      variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
      return variables;
    }
    variables["CUDA_VISIBLE_DEVICES"] = "";
    const auto cores = device->settings().find("cpus");
    if (cores == device->settings().end()) return variables;
    variables["KBENCH_CPUS"] = cores->second;
    if (const auto list = ParseCpuList(cores->second); list.ok()) *cpus = *list;
    return variables;
  }

  HoldOptions asked_;
  bool remote_ = false;
  std::vector<std::string> variables_;
  std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<Command> MakeWith() { return std::make_unique<With>(); }

}  // namespace kbench::client
