// drain, quarantine, resume: whether a device takes new cases. One verb in three words.
#include <fmt/format.h>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"

namespace kbench::client {
namespace {

using kbench::v1::Device;

enum class Action { kDrain, kQuarantine, kResume };

class Maintain final : public Command {
 public:
  explicit Maintain(Action action) : action_(action) {}

  std::string name() const override {
    if (action_ == Action::kResume) return "resume";
    return action_ == Action::kDrain ? "drain" : "quarantine";
  }
  std::string help() const override {
    if (action_ == Action::kResume) return "End the drain of a device, or its quarantine";
    return action_ == Action::kDrain ? "Let a device finish its case and take nothing new"
                                     : "Take nothing new on a device whose numbers are not trusted";
  }

  void Declare(Arguments& arguments) override {
    arguments.Positional("DEVICE", &device_, "Its name or UUID; see kbench-client devices");
    if (action_ == Action::kResume) {
      arguments.Choice("--end", &kind_, {"drain", "quarantine", "all"},
                       "What ends (drain, else quarantine)");
      return;
    }
    arguments.Option("--reason", &reason_, "TEXT", "What everybody who waits will read");
  }

  int Run(Context& context) override {
    if (action_ != Action::kResume && reason_.empty()) {
      return ReportUsage(context.io, name() +
                                         ": a reason is missing, everybody who waits will read "
                                         "it; give --reason TEXT");
    }
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto device = Unary<Device>(*backend, [&](grpc::ClientContext* call, Device* out) {
      return Call(*backend, call, out);
    });
    if (!device.ok()) return ReportError(context.io, device.status());
    std::string line = device->name() + ": " + device->state();
    if (!device->state_message().empty()) line += ", " + device->state_message();
    context.io.out << Wrap(Plain(line), kTableWidth, 2) << "\n";
    if (action_ == Action::kResume) TellWhatStands(context.io, *device);
    return kExitOk;
  }

 private:
  // One of the two was ended, and the other one is a fact of its own.
  static void TellWhatStands(Io& io, const Device& device) {
    if (!device.has_maintenance()) return;
    const std::string& kind = device.maintenance().kind();
    io.out << Wrap(Plain(fmt::format("its {} stands ({}); to end it: kbench-client resume {} --end "
                                     "{}",
                                     kind, device.maintenance().reason(), device.name(), kind)),
                   kTableWidth, 2)
           << "\n";
  }

  template <typename Request>
  Request Asked(const Backend& backend) const {
    Request request;
    request.set_device(device_);
    request.set_owner(backend.claimed_owner);
    return request;
  }

  grpc::Status Call(const Backend& backend, grpc::ClientContext* call, Device* out) const {
    if (action_ == Action::kResume) {
      auto request = Asked<kbench::v1::ResumeDeviceRequest>(backend);
      request.set_kind(kind_);
      return backend.admin->ResumeDevice(call, request, out);
    }
    if (action_ == Action::kDrain) {
      auto request = Asked<kbench::v1::DrainDeviceRequest>(backend);
      request.set_reason(reason_);
      return backend.admin->DrainDevice(call, request, out);
    }
    auto request = Asked<kbench::v1::QuarantineDeviceRequest>(backend);
    request.set_reason(reason_);
    return backend.admin->QuarantineDevice(call, request, out);
  }

  const Action action_;
  std::string device_;
  std::string reason_;
  std::string kind_;
};

}  // namespace

std::unique_ptr<Command> MakeDrain() { return std::make_unique<Maintain>(Action::kDrain); }
std::unique_ptr<Command> MakeQuarantine() {
  return std::make_unique<Maintain>(Action::kQuarantine);
}
std::unique_ptr<Command> MakeResume() { return std::make_unique<Maintain>(Action::kResume); }

}  // namespace kbench::client
