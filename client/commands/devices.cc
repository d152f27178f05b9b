// devices: where measurements can run, and how those devices are.
#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <map>
#include <string>
#include <vector>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/queue_text.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Device;
using kbench::v1::ListDevicesResponse;

// Below this many the worker takes an assumed value for what changes between sessions.
constexpr int kFewCanaries = 5;

std::string StateCell(const Device& device) {
  if (!device.current_job().empty()) {
    return fmt::format("{} ({})", device.state(), JobId(device.current_job()));
  }
  return device.state();
}

// What the device can do and what measuring on it costs; empty while that is not known.
std::vector<std::string> CalibrationLines(const Device& device) {
  if (!device.has_calibration()) return {};
  const kbench::v1::Calibration& c = device.calibration();
  std::vector<std::string> lines = {c.passed() ? "calibration passed"
                                               : "calibration failed at " + c.failed_step()};
  const auto add = [&](double value, const std::string& text) {
    if (value > 0) lines.push_back(text);
  };
  add(c.event_floor_seconds(), "an empty measurement reads " +
                                   FormatSeconds(c.event_floor_seconds()) + ", an empty kernel " +
                                   FormatSeconds(c.null_kernel_seconds()));
  add(c.quantum_seconds(), "smallest step of the clock " + FormatSeconds(c.quantum_seconds()));
  add(c.timer_tick_seconds(),
      "the device's own timer ticks every " + FormatSeconds(c.timer_tick_seconds()));
  for (const auto& known : c.known_durations()) {
    lines.push_back(fmt::format("a kernel of {} was measured as {} (may differ by {})",
                                FormatSeconds(known.expected_seconds()),
                                FormatSeconds(known.measured_seconds()),
                                FormatSeconds(known.allowed_seconds())));
  }
  add(c.event_cost_seconds(),
      "a pair of events adds " + FormatSeconds(c.event_cost_seconds()) + " to a real kernel");
  add(static_cast<double>(c.flush_bytes()),
      "a flush touches " + FormatSize(static_cast<double>(c.flush_bytes())) + " twice");
  add(c.flush_cold_ratio(),
      fmt::format("after a flush a read takes {:.2f} times as long", c.flush_cold_ratio()));
  add(c.read_bandwidth(), "memory: reads " + FormatBytes(c.read_bandwidth()) + ", writes " +
                              FormatBytes(c.write_bandwidth()) + ", copies " +
                              FormatBytes(c.copy_bandwidth()));
  std::string products;
  for (const auto& [dtype, rate] :
       std::map<std::string, double>(c.matmul_flops().begin(), c.matmul_flops().end())) {
    products += (products.empty() ? "matmul: " : ", ") + dtype + " " + FormatFlops(rate);
  }
  add(products.empty() ? 0 : 1, products);
  if (c.passed() && c.canaries() > 0) {
    lines.push_back(fmt::format("medians move by {} between sessions ({}{})",
                                FormatPercent(c.between_session_ratio()),
                                FormatCount(c.canaries(), "canary", "canaries"),
                                c.canaries() < kFewCanaries ? ": still assumed" : ""));
  }
  return lines;
}

// What concerns the device as a whole, beside its state: labels, canary, maintenance.
std::vector<std::string> DeviceLines(const Device& device) {
  std::vector<std::string> lines;
  std::string labels;
  for (const auto& [key, value] :
       std::map<std::string, std::string>(device.labels().begin(), device.labels().end())) {
    labels += (labels.empty() ? "labels: " : ", ") + key + "=" + value;
  }
  if (!labels.empty()) lines.push_back(labels);
  if (!device.uuid().empty()) lines.push_back("UUID " + device.uuid());
  const kbench::v1::CanaryState& canary = device.canary();
  if (canary.ratio() > 0) {
    lines.push_back(fmt::format("newest canary: {} of its usual time{}",
                                FormatFactor(canary.ratio()),
                                canary.drifting() ? ", it drifts: results are SUSPECT" : ""));
  }
  const kbench::v1::Maintenance& maintenance = device.maintenance();
  if (maintenance.kind() == "quarantine" && maintenance.good_canaries() > 0) {
    lines.push_back(fmt::format("good canaries since the quarantine began: {} of 3",
                                maintenance.good_canaries()));
  }
  return lines;
}

class Devices final : public Command {
 public:
  std::string name() const override { return "devices"; }
  std::string help() const override { return "List devices and their state"; }
  void Declare(Arguments& arguments) override {
    DeclareFormat(arguments, &format_, {"table", "json"});
    arguments.Flag("-v,--verbose", &verbose_,
                   "Also the calibration, what is absent, who else is there");
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    kbench::v1::ListDevicesRequest request;
    request.set_owner(backend->claimed_owner);
    const auto reply = Unary<ListDevicesResponse>(
        *backend, [&](grpc::ClientContext* call, ListDevicesResponse* out) {
          return backend->devices->ListDevices(call, request, out);
        });
    if (!reply.ok()) return ReportError(context.io, reply.status());
    Print(context.io, *reply);
    return kExitOk;
  }

 private:
  static void Indented(Io& io, const std::string& line) {
    io.out << "  " << Wrap(Plain(line), kTableWidth - 2, 4) << "\n";
  }

  static void PrintDefault(Io& io, const ListDevicesResponse& reply) {
    if (reply.default_device().empty()) return;
    const std::string whose =
        reply.default_is_owners() ? "your default" : "the default for everybody";
    io.out << Plain("* " + whose + ": " + reply.default_device()) << "\n";
  }

  static void PrintDefaultJson(Io& io, const ListDevicesResponse& reply) {
    if (reply.default_device().empty()) return;
    google::protobuf::Struct object;
    auto& fields = *object.mutable_fields();
    fields["device"].set_string_value(reply.default_device());
    fields["own"].set_bool_value(reply.default_is_owners());
    io.out << "{\"default\":" << ToJsonLine(object) << "}\n";
  }

  void Print(Io& io, const ListDevicesResponse& reply) const {
    if (format_ == "json") {
      for (const Device& device : reply.devices()) {
        io.out << "{\"device\":" << ToJsonLine(device) << "}\n";
      }
      PrintDefaultJson(io, reply);
      return;
    }
    if (reply.devices().empty()) {
      io.out << "no devices: no worker has connected yet\n";
      return;
    }
    TextTable table{{"device", "state", "model", "memory", "cores", "host"}, {}, {}};
    table.right = {false, false, false, true, true, false};
    for (const Device& device : reply.devices()) {
      const bool is_default = device.name() == reply.default_device();
      table.rows.push_back({device.name() + (is_default ? " *" : ""), StateCell(device),
                            Cut(device.model(), 32),
                            FormatSize(static_cast<double>(device.memory_bytes())),
                            fmt::format("{}", device.cores()), Cut(device.hostname(), 14)});
    }
    io.out << table.ToString();
    PrintDefault(io, reply);
    for (const Device& device : reply.devices()) {
      if (device.canary().drifting()) {
        io.out << Wrap(Plain(device.name() + ": " + device.canary().message()), kTableWidth, 2)
               << "\n";
      }
      if (device.state_message().empty()) continue;
      io.out << Wrap(Plain(device.name() + ": " + device.state_message()), kTableWidth, 2) << "\n";
    }
    if (!verbose_) return;
    for (const Device& device : reply.devices()) {
      const auto lines = CalibrationLines(device);
      io.out << device.name() << (lines.empty() ? ": not calibrated yet\n" : ":\n");
      for (const std::string& line : DeviceLines(device)) Indented(io, line);
      for (const std::string& line : lines) Indented(io, line);
      for (const auto& absent : device.absent()) Indented(io, AbsentText(absent));
      for (const auto& other : device.foreign()) Indented(io, "others: " + ForeignText(other));
    }
  }

  std::string format_ = "table";
  bool verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDevices() { return std::make_unique<Devices>(); }

}  // namespace kbench::client
