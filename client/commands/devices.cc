// devices: where measurements can run, and how those devices are.
#include <fmt/format.h>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Device;
using kbench::v1::ListDevicesResponse;

std::string StateCell(const Device& device) {
  if (!device.current_job().empty()) {
    return fmt::format("{} ({})", device.state(), JobId(device.current_job()));
  }
  return device.state();
}

class Devices final : public Command {
 public:
  std::string name() const override { return "devices"; }
  std::string help() const override { return "List devices and their state"; }
  void Declare(Arguments& arguments) override {
    DeclareFormat(arguments, &format_, {"table", "json"});
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto reply = Unary<ListDevicesResponse>(
        *backend, [&](grpc::ClientContext* call, ListDevicesResponse* out) {
          return backend->devices->ListDevices(call, {}, out);
        });
    if (!reply.ok()) return ReportError(context.io, reply.status());
    Print(context.io, *reply);
    return kExitOk;
  }

 private:
  void Print(Io& io, const ListDevicesResponse& reply) const {
    if (format_ == "json") {
      for (const Device& device : reply.devices()) {
        io.out << "{\"device\":" << ToJsonLine(device) << "}\n";
      }
      return;
    }
    if (reply.devices().empty()) {
      io.out << "no devices: no worker has connected yet\n";
      return;
    }
    TextTable table{{"device", "state", "model", "memory", "cores", "host"}, {}, {}};
    table.right = {false, false, false, true, true, false};
    for (const Device& device : reply.devices()) {
      table.rows.push_back({device.name(), StateCell(device), Cut(device.model(), 32),
                            FormatSize(static_cast<double>(device.memory_bytes())),
                            fmt::format("{}", device.cores()), Cut(device.hostname(), 14)});
    }
    io.out << table.ToString();
    for (const Device& device : reply.devices()) {
      if (device.state_message().empty()) continue;
      io.out << Wrap(device.name() + ": " + device.state_message(), kTableWidth, 2) << "\n";
    }
  }

  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeDevices() { return std::make_unique<Devices>(); }

}  // namespace kbench::client
