// watch: follow a job that was submitted before.
#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

class Watch final : public Command {
 public:
  std::string name() const override { return "watch"; }
  std::string help() const override { return "Follow a job to its end"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "As submit or list printed it");
    DeclareFormat(arguments, &format_);
    arguments.Footer(kExitCodesHelp);
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    return AwaitJob(context, *backend, JobName(job_), ParseFormat(format_)).code;
  }

 private:
  std::string job_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeWatch() { return std::make_unique<Watch>(); }

}  // namespace kbench::client
