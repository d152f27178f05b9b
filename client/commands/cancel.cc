// cancel: stop a job. Idempotent; one that has ended stays as it is.
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/job_view.h"
#include "client/output/words.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::Job;

class Cancel final : public Command {
 public:
  std::string name() const override { return "cancel"; }
  std::string help() const override { return "Stop a job"; }

  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &jobs_, "One or more jobs");
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    int code = kExitOk;
    for (const std::string& name : jobs_) {
      kbench::v1::CancelJobRequest request;
      request.set_name(JobName(name));
      const auto job = Unary<Job>(*backend, [&](grpc::ClientContext* call, Job* reply) {
        return backend->jobs->CancelJob(call, request, reply);
      });
      if (!job.ok()) {
        code = ReportError(context.io, job.status());
        continue;
      }
      const bool ending = !IsFinal(job->state());
      context.io.out << JobId(job->name()) << " "
                     << (ending ? "is being cancelled" : StateWord(job->state())) << "\n";
    }
    return code;
  }

 private:
  std::vector<std::string> jobs_;
};

}  // namespace

std::unique_ptr<Command> MakeCancel() { return std::make_unique<Cancel>(); }

}  // namespace kbench::client
