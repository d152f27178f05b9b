// whoami: whom the coordinator takes us for.
#include "client/account.h"
#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

class Whoami final : public Command {
 public:
  std::string name() const override { return "whoami"; }
  std::string help() const override { return "Show who the coordinator says you are"; }
  void Declare(Arguments& arguments) override {
    DeclareFormat(arguments, &format_, {"table", "json"});
  }

  int Run(Context& context) override {
    const auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto account = AskWhoAmI(*backend);
    if (!account.ok()) return ReportError(context.io, account.status());
    if (format_ == "json") {
      context.io.out << "{\"account\":" << ToJsonLine(*account) << "}\n";
    } else {
      context.io.out << AccountText(*account, backend->address) << "\n";
    }
    return kExitOk;
  }

 private:
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeWhoami() { return std::make_unique<Whoami>(); }

}  // namespace kbench::client
