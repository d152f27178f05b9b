// version: of the client and, where one answers, of the coordinator.
#include "client/version.h"

#include <fmt/format.h>

#include "client/commands/verbs.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"

namespace kbench::client {
namespace {

using kbench::v1::ListDevicesResponse;

class Version final : public Command {
 public:
  std::string name() const override { return "version"; }
  std::string help() const override { return "Show the versions of client and coordinator"; }
  void Declare(Arguments&) override {}

  int Run(Context& context) override {
    context.io.out << "kbench-client " << kClientVersion << "\n";
    context.io.out << "kbench-server " << ServerVersion(context) << "\n";
    return kExitOk;
  }

 private:
  // Never an error: the client's version is wanted most where nothing runs.
  static std::string ServerVersion(Context& context) {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return "not running";
    const auto reply = Unary<ListDevicesResponse>(
        *backend, [&](grpc::ClientContext* call, ListDevicesResponse* out) {
          return backend->devices->ListDevices(call, {}, out);
        });
    if (!reply.ok()) return fmt::format("does not answer on {}", backend->address);
    const std::string version =
        reply->server_version().empty() ? "of an unknown version" : reply->server_version();
    return fmt::format("{} on {}", Plain(version), backend->address);
  }
};

}  // namespace

std::unique_ptr<Command> MakeVersion() { return std::make_unique<Version>(); }

}  // namespace kbench::client
