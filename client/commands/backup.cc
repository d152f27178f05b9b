// backup: a consistent copy of the coordinator's store, made on its host while it serves. Its
// folder stays there: kbench-server restore puts it back.
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/units.h"
#include "kbench/v1/admin_service.grpc.pb.h"

namespace kbench::client {
namespace {

using kbench::v1::AdminService;
using kbench::v1::BackupResponse;

constexpr int kCallSeconds = 3600;  // a large store on a slow disk

class Backup final : public Command {
 public:
  std::string name() const override { return "backup"; }
  std::string help() const override { return "Back up the coordinator's store, on its host"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("NAME", &name_, "The folder's name (default: the time)", false);
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto stub = AdminService::NewStub(backend->channel);
    kbench::v1::BackupRequest request;
    request.set_name(name_);
    const auto made =
        Unary<BackupResponse>(*backend, [&](grpc::ClientContext* call, BackupResponse* reply) {
          call->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kCallSeconds));
          return stub->Backup(call, request, reply);
        });
    if (!made.ok()) return ReportError(context.io, made.status());
    context.io.out << "backed up to " << made->path() << " ("
                   << FormatSize(static_cast<double>(made->size_bytes())) << ")\n";
    return kExitOk;
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> MakeBackup() { return std::make_unique<Backup>(); }

}  // namespace kbench::client
