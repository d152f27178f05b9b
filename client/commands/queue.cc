// queue: who runs, who is next, and who else uses the devices.
#include <fmt/format.h>

#include "client/commands/await.h"
#include "client/commands/queue_options.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/queue_text.h"
#include "client/output/time_range.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

class Queue final : public Command {
 public:
  std::string name() const override { return "queue"; }
  std::string help() const override { return "Show who runs and who is next"; }

  void Declare(Arguments& arguments) override {
    options_.Declare(arguments, 50);
    DeclareFormat(arguments, &format_, {"table", "json"});
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto queue = ReadQueue(*backend, options_.Request());
    if (!queue.ok()) return ReportError(context.io, queue.status());
    if (format_ == "json") {
      context.io.out << "{\"queue\":" << ToJsonLine(*queue) << "}\n";
      return kExitOk;
    }
    for (const std::string& line : QueueLines(*queue, StampSeconds(queue->time()))) {
      context.io.out << line << "\n";
    }
    if (const std::string note = options_.NothingFound(*queue); !note.empty()) {
      context.io.err << "kbench-client: " << note << "\n";
    }
    return kExitOk;
  }

 private:
  QueueOptions options_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeQueue() { return std::make_unique<Queue>(); }

}  // namespace kbench::client
