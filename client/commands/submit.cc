// submit: measure something.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/submission.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Job;
using kbench::v1::SubmitJobRequest;

std::string UserName() {
  const passwd* entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_name : fmt::format("{}", getuid());
}

class Submit final : public Command {
 public:
  std::string name() const override { return "submit"; }
  std::string help() const override { return "Measure a kernel: submit matmul fp16 4096"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("KERNEL", &what_.kernels, "matmul, sum ... or a list: sum,softmax");
    arguments.Positional("DTYPE", &what_.dtypes, "fp32, tf32, fp16 ... or a list");
    arguments.Positionals("SIZE", &what_.sizes,
                          "4096, 64Mi, 2^26, m=1,n=4096,k=4096, a range: 1Ki..64Mi*2");
    DeclareWhat(arguments);
    DeclareHow(arguments);
    arguments.Flag("--detach", &detach_, "Print the job's name and do not wait");
    DeclareFormat(arguments, &format_);
    arguments.Option("--request-id", &request_id_, "UUID", "The same one twice gives the same job");
    arguments.Footer(kExitCodesHelp);
  }

  int Run(Context& context) override {
    SubmitJobRequest request;
    if (quick_) what_.target = "2%";
    if (precise_) what_.target = "0.2%";
    auto spec = BuildSpec(what_);
    if (!spec.ok()) return ReportError(context.io, spec.status());
    *request.mutable_spec() = *std::move(spec);
    request.set_request_id(request_id_.empty() ? RandomUuid() : request_id_);
    request.set_owner(UserName());

    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto job = Unary<Job>(*backend, [&](grpc::ClientContext* call, Job* reply) {
      return backend->jobs->SubmitJob(call, request, reply);
    });
    if (!job.ok()) return ReportError(context.io, job.status());
    if (detach_) return PrintDetached(context.io, *job);
    return AwaitJob(context, *backend, job->name(), ParseFormat(format_));
  }

 private:
  void DeclareWhat(Arguments& arguments) {
    arguments.Option("--impl", &what_.implementations, "A,B",
                     "Implementations or families, or all (default: the best of each family)");
    arguments.Option("--device", &what_.device, "NAME",
                     "cpu, gpu0, gpu or a UUID (default: a GPU if any)");
    arguments.Option("--mode", &what_.modes, "MODE", "cold (default), hot, graph, steady");
    arguments.Option("--flush", &what_.flush, "HOW", "clean (default), dirty, none");
    arguments.Unsigned("--seed", &what_.seed, "N", "Seed of the inputs (default 1)");
  }

  void DeclareHow(Arguments& arguments) {
    arguments.Option("--target", &what_.target, "RATIO", "Precision to reach (default 0.5%)");
    arguments.Flag("--quick", &quick_, "The same as --target 2%");
    arguments.Flag("--precise", &precise_, "The same as --target 0.2%");
    arguments.Exclusive({"--target", "--quick", "--precise"});
    arguments.Option("--budget", &what_.budget, "TIME", "Time one case may take (default 60s)");
    arguments.Integer("--priority", &what_.priority, 0, 1000, "N",
                      "0 (last) to 1000 (first), default 500");
    arguments.Option("--queue-timeout", &what_.queue_timeout, "TIME",
                     "Give up if it has not started by then (default: never)");
    arguments.Repeated("--label", &what_.labels, "KEY=VALUE", "A note on the job, may be repeated");
  }

  int PrintDetached(Io& io, const Job& job) const {
    if (format_ == "json") {
      io.out << "{\"job\":" << ToJsonLine(job) << "}\n";
    } else {
      io.out << JobId(job.name()) << "\n";
      io.err << "watch it with: kbench-client watch " << JobId(job.name()) << "\n";
    }
    io.out.flush();
    return kExitOk;
  }

  Submission what_;
  std::string format_ = "table";
  std::string request_id_;
  bool quick_ = false;
  bool precise_ = false;
  bool detach_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSubmit() { return std::make_unique<Submit>(); }

}  // namespace kbench::client
