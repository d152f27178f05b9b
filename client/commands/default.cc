// default: which device a job runs on that names none.
#include <fmt/format.h>

#include "client/account.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"

namespace kbench::client {
namespace {

using kbench::v1::ListDevicesResponse;
using kbench::v1::SetDefaultDeviceResponse;

class Default final : public Command {
 public:
  std::string name() const override { return "default"; }
  std::string help() const override { return "Which device your jobs run on: default gpu0"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("DEVICE", &device_,
                         "As --device of submit takes it; without it: what is set", false);
    arguments.Flag("--clear", &clear_, "No default any more");
    arguments.Flag("--for-everybody", &everybody_, "For all who have none of their own");
  }

  int Run(Context& context) override {
    if (clear_ && !device_.empty()) {
      return ReportUsage(context.io, "default: give a DEVICE or --clear, not both");
    }
    if (everybody_ && !clear_ && device_.empty()) {
      return ReportUsage(context.io, "default: --for-everybody goes with a DEVICE or --clear");
    }
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    if (clear_ || !device_.empty()) {
      kbench::v1::SetDefaultDeviceRequest request;
      request.set_device(device_);
      if (!everybody_) {
        // Nobody's name would mean everybody.
        const auto owner = OwnerAt(*backend);
        if (!owner.ok()) return ReportError(context.io, owner.status());
        request.set_owner(*owner);
      }
      const auto set = Unary<SetDefaultDeviceResponse>(
          *backend, [&](grpc::ClientContext* call, SetDefaultDeviceResponse* out) {
            return backend->admin->SetDefaultDevice(call, request, out);
          });
      if (!set.ok()) return ReportError(context.io, set.status());
    }
    return Show(context.io, *backend);
  }

 private:
  int Show(Io& io, const Backend& backend) const {
    kbench::v1::ListDevicesRequest request;
    request.set_owner(backend.claimed_owner);
    const auto reply = Unary<ListDevicesResponse>(
        backend, [&](grpc::ClientContext* call, ListDevicesResponse* out) {
          return backend.devices->ListDevices(call, request, out);
        });
    if (!reply.ok()) return ReportError(io, reply.status());
    const std::string own = reply->default_is_owners() ? reply->default_device() : "";
    const std::string everybodys =
        reply->default_is_owners() ? reply->everybodys_default() : reply->default_device();
    if (own.empty() && everybodys.empty()) {
      io.out << "no default is set: a job that names no device takes a GPU, else the CPU,\n"
                "  as long as there is only one model of it\n";
      return kExitOk;
    }
    if (!own.empty()) io.out << Plain("your default: " + own) << "\n";
    if (!everybodys.empty()) {
      io.out << Plain("the default for everybody" +
                      std::string(own.empty() ? ": " : " who has none: ") + everybodys)
             << "\n";
    } else if (everybody_) {
      io.out << "no default is set for everybody who has none\n";
    }
    return kExitOk;
  }

  std::string device_;
  bool clear_ = false;
  bool everybody_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDefault() { return std::make_unique<Default>(); }

}  // namespace kbench::client
