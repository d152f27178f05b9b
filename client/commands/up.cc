// up: start coordinator and workers on this machine.
#include "client/commands/verbs.h"
#include "client/stack/local_stack.h"

namespace kbench::client {
namespace {

class Up final : public Command {
 public:
  std::string name() const override { return "up"; }
  std::string help() const override { return "Start the stack on this machine"; }

  void Declare(Arguments& arguments) override {
    arguments.Repeated("--device", &options_.devices, "DEVICE",
                       "cpu, cpu:0-3, a GPU's index or UUID (default: all GPUs)");
    arguments.Option("--metrics-listen", &options_.metrics_listen, "HOST:PORT",
                     "Where Prometheus scrapes (default 127.0.0.1:7601)");
    arguments.Number("--timeout", &options_.timeout_seconds, 86'400, "S",
                     "Seconds to wait until it is ready (30)");
  }

  int Run(Context& context) override { return StartStack(context, options_); }

 private:
  UpOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeUp() { return std::make_unique<Up>(); }

}  // namespace kbench::client
