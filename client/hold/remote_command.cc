#include "client/hold/remote_command.h"

#include <memory>

#include "client/errors.h"
#include "client/exit_code.h"
#include "client/fetch.h"
#include "client/follow.h"
#include "client/hold/hold_clock.h"
#include "client/hold/keeper.h"
#include "client/output/progress.h"
#include "client/output/text_table.h"
#include "client/output/words.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::Job;
using kbench::v1::JobEvent;

class RemoteObserver final : public JobObserver {
 public:
  RemoteObserver(Io& io, const Turn& turn)
      : io_(io),
        progress_(io),
        clock_(SystemClock().SteadySeconds(), turn.left_seconds),
        warned_(!turn.begun) {}

  void OnEvent(const JobEvent&, const JobView& view) override {
    const double now = SystemClock().SteadySeconds();
    // The end itself is the worker's to bring about.
    if (!warned_ && clock_.Due(now) == HoldClock::Beat::kWarn) {
      warned_ = true;
      progress_.Erase();
      io_.err << "kbench-client: " << LeftText(clock_.left(now)) << " left of its time"
              << std::endl;
    }
    progress_.Show(ProgressText(view));
  }
  void OnCaseEnded(const Job&, const kbench::v1::CaseStatus&) override { progress_.Erase(); }
  void OnReconnecting() override { progress_.Show("the coordinator is away: reconnecting ..."); }
  void Done() { progress_.Erase(); }

 private:
  Io& io_;
  ProgressLine progress_;
  HoldClock clock_;
  bool warned_;
};

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

absl::Status PrintOutput(Io& io, const Backend& backend, const std::string& job) {
  kbench::v1::ListArtifactsRequest request;
  request.set_job(job);
  const auto listed = Unary<kbench::v1::ListArtifactsResponse>(
      backend, [&](grpc::ClientContext* call, kbench::v1::ListArtifactsResponse* reply) {
        return backend.results->ListArtifacts(call, request, reply);
      });
  if (!listed.ok()) return listed.status();
  for (const auto& artifact : listed->artifacts()) {
    absl::Status status;
    if (EndsWith(artifact.name(), "-stdout.txt")) {
      status = FetchArtifact(backend, artifact.name(), io.out);
    } else if (EndsWith(artifact.name(), "-stderr.txt")) {
      status = FetchArtifact(backend, artifact.name(), io.err);
    }
    if (!status.ok()) return status;
  }
  io.out.flush();
  io.err.flush();
  return absl::OkStatus();
}

void CancelIt(Io& io, const Backend& backend, const std::string& name) {
  kbench::v1::CancelJobRequest request;
  request.set_name(name);
  const auto job = Unary<Job>(backend, [&](grpc::ClientContext* call, Job* reply) {
    return backend.jobs->CancelJob(call, request, reply);
  });
  if (!job.ok()) {
    ReportError(io, job.status());
    return;
  }
  io.err << "kbench-client: ending the command (once more Ctrl-C leaves it to itself)" << std::endl;
}

FollowResult FollowOnce(Context& context, const Backend& backend, const Turn& turn, bool may_stop) {
  Interrupt stop;
  const Interrupt::Hook hook(context.interrupt, [&stop, may_stop] {
    if (may_stop) stop.Fire();
  });
  if (may_stop && context.interrupt.fired()) stop.Fire();
  RemoteObserver observer(context.io, turn);
  FollowResult result = Follow(backend, turn.job.name(), {}, stop, observer);
  observer.Done();
  return result;
}

int CodeOf(Io& io, const Job& job, bool interrupted) {
  const kbench::v1::CaseStatus& status = PlaceOf(job);
  if (job.state() == kbench::v1::JOB_STATE_SUCCEEDED && status.has_exit_code()) {
    return status.exit_code();
  }
  if (interrupted) return kExitInterrupted;
  const std::string why = job.message().empty() ? job.reason() : job.message();
  io.err << "kbench-client: job " << JobId(job.name()) << " ended " << StateWord(job.state())
         << (why.empty() ? "" : ": " + Plain(why)) << std::endl;
  const int code = ExitCodeOf(job);
  return code == kExitOk ? kExitInfrastructure : code;
}

}  // namespace

int FollowRemote(Context& context, const Backend& backend, const Turn& turn) {
  std::unique_ptr<Keeper> keeper;
  if (turn.begun) {
    context.io.err << "kbench-client: " << BegunText(turn) << std::endl;
    if (turn.lapse_seconds > 0) {
      // Whether the command goes on is the worker's to tell, through the job.
      keeper = std::make_unique<Keeper>(backend, turn.job.name(), turn.lapse_seconds,
                                        Keeper::Notices{[] {}, [](bool) {}});
    }
  }
  FollowResult result = FollowOnce(context, backend, turn, true);
  const bool interrupted = result.interrupted;
  if (interrupted) {
    CancelIt(context.io, backend, turn.job.name());
    result = FollowOnce(context, backend, turn, false);
  }
  if (!result.status.ok()) return ReportError(context.io, result.status);
  const absl::Status printed = PrintOutput(context.io, backend, turn.job.name());
  if (!printed.ok()) ReportError(context.io, printed);
  return CodeOf(context.io, result.job, interrupted);
}

}  // namespace kbench::client
