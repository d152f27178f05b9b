// down: stop what up started.
#include "client/commands/verbs.h"
#include "client/stack/local_stack.h"

namespace kbench::client {
namespace {

class Down final : public Command {
 public:
  std::string name() const override { return "down"; }
  std::string help() const override { return "Stop the stack on this machine"; }

  void Declare(Arguments& arguments) override {
    arguments.Number("--grace", &grace_seconds_, 86'400, "S", "Seconds before it is killed (10)");
  }

  int Run(Context& context) override { return StopStack(context, grace_seconds_); }

 private:
  double grace_seconds_ = 10;
};

}  // namespace

std::unique_ptr<Command> MakeDown() { return std::make_unique<Down>(); }

}  // namespace kbench::client
