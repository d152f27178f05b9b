#include "client/hold/turn.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "client/commands/await.h"
#include "client/duration.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/follow.h"
#include "client/hold/keeper.h"
#include "client/output/progress.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/reconnect.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::JobEvent;

constexpr double kBeginSeconds = 0.1;  // between two looks whether the worker has begun
constexpr double kAwaySeconds = 60;    // how long a coordinator may be away meanwhile
constexpr int kEndTries = 5;

absl::StatusOr<Job> Look(const Backend& backend, const std::string& name) {
  kbench::v1::GetJobRequest request;
  request.set_name(name);
  return Unary<Job>(backend, [&](grpc::ClientContext* call, Job* reply) {
    return backend.jobs->GetJob(call, request, reply);
  });
}

constexpr char kExamples[] = "90s, 30m, 2h or 1d";

absl::StatusOr<double> ReadHoldTime(const std::string& text) {
  if (!text.empty()) return ReadDuration("for", text, kExamples, kMostDuration);
  const std::string message = "say for how long: --for 30m";
  return MakeError(absl::StatusCode::kInvalidArgument, message,
                   {.reason = "BAD_DURATION", .metadata = {}, .violations = {{"for", message}}});
}

std::string WaitLine(const Job& job) {
  std::string text = "job " + JobId(job.name()) + " waits for " +
                     (job.spec().device().empty() ? "a device" : job.spec().device());
  if (job.queue_position() > 0) {
    text += ": " + FormatCount(job.queue_position(), "case ahead", "cases ahead");
  } else if (!job.message().empty()) {
    text += ": " + Plain(job.message());
  }
  const double now = static_cast<double>(SystemClock().WallMicros()) * 1e-6;
  if (job.start_estimate().has_latest()) {
    const double latest = static_cast<double>(ToMicros(job.start_estimate().latest())) * 1e-6 - now;
    text += ", it starts within about " + LeftText(latest);
  }
  return text + " (Ctrl-C gives up)";
}

// Follows the job until it has a device.
class Waiter final : public JobObserver {
 public:
  Waiter(Io& io, Interrupt& done) : io_(io), done_(done), progress_(io) {}

  void OnEvent(const JobEvent&, const JobView& view) override {
    const auto state = view.job().state();
    if (state == kbench::v1::JOB_STATE_RUNNING) {
      progress_.Erase();
      done_.Fire();
      return;
    }
    if (state != kbench::v1::JOB_STATE_QUEUED) return;
    // What begins at once is not worth a line.
    const bool waits = view.job().queue_position() > 0 || !view.job().message().empty();
    if (!told_ && waits && !io_.err_is_terminal) {
      io_.err << "kbench-client: " << WaitLine(view.job()) << std::endl;
      told_ = true;
    }
    progress_.Show(WaitLine(view.job()));
  }
  void OnCaseEnded(const Job&, const CaseStatus&) override { progress_.Erase(); }
  void OnReconnecting() override { progress_.Show("the coordinator is away: reconnecting ..."); }
  void Done() { progress_.Erase(); }

 private:
  Io& io_;
  Interrupt& done_;
  ProgressLine progress_;
  bool told_ = false;
};

class TurnTaker {
 public:
  TurnTaker(Context& context, const Backend& backend, Job job)
      : context_(context), backend_(backend) {
    turn_.job = std::move(job);
  }

  Turn Run() {
    // Ctrl-C ends what is under way here, never the process before the job is cancelled.
    const Interrupt::Hook here(context_.interrupt, [] {});
    while (Follows()) {
      if (Begins()) return turn_;
    }
    return turn_;
  }

 private:
  // True when it has a device.
  bool Follows() {
    Interrupt running;
    FollowResult result;
    {
      const Interrupt::Hook stop(context_.interrupt, [&running] { running.Fire(); });
      if (context_.interrupt.fired()) running.Fire();
      Waiter waiter(context_.io, running);
      result = Follow(backend_, turn_.job.name(), {}, running, waiter);
      waiter.Done();
    }
    if (context_.interrupt.fired()) return GiveUp();
    if (!result.job.name().empty()) turn_.job = result.job;
    if (!result.status.ok()) {
      turn_.code = ReportError(context_.io, result.status);
      return false;
    }
    if (result.interrupted) return true;
    Ended();
    return false;
  }

  // True when there is nothing more to wait for; false when it is back in the line.
  bool Begins() {
    const double away_until = SystemClock().SteadySeconds() + kAwaySeconds;
    while (true) {
      const auto kept = KeepOnce(backend_, turn_.job.name());
      if (kept.ok()) {
        turn_.begun = true;
        turn_.left_seconds = ToSeconds(kept->left());
        turn_.lapse_seconds = ToSeconds(kept->lapse_after());
      } else if (!IsNotHeld(kept.status()) && SystemClock().SteadySeconds() > away_until) {
        turn_.code = ReportError(context_.io, Explain(kept.status(), backend_.address));
        return true;
      }
      const auto job = Look(backend_, turn_.job.name());
      if (job.ok()) turn_.job = *job;
      if (job.ok() && IsFinal(job->state())) return Ended();
      if (turn_.begun && job.ok()) return true;
      if (job.ok() && job->state() == kbench::v1::JOB_STATE_QUEUED) return false;
      const auto fired = [this] { return context_.interrupt.fired(); };
      if (!PauseForConnection(*backend_.channel, kBeginSeconds, fired)) {
        GiveUp();
        return true;
      }
    }
  }

  // The job has ended without us; unless it did well, why is told. Always true.
  bool Ended() {
    turn_.begun = false;
    if (turn_.job.state() == kbench::v1::JOB_STATE_SUCCEEDED) return true;
    const std::string why = turn_.job.message().empty() ? turn_.job.reason() : turn_.job.message();
    context_.io.err << "kbench-client: job " << JobId(turn_.job.name()) << " ended "
                    << StateWord(turn_.job.state()) << (why.empty() ? "" : ": " + Plain(why))
                    << std::endl;
    turn_.code = ExitCodeOf(turn_.job);
    return true;
  }

  bool GiveUp() {
    kbench::v1::CancelJobRequest request;
    request.set_name(turn_.job.name());
    const auto job = Unary<Job>(backend_, [&](grpc::ClientContext* call, Job* reply) {
      return backend_.jobs->CancelJob(call, request, reply);
    });
    turn_.code = kExitInterrupted;
    if (!job.ok()) {
      ReportError(context_.io, job.status());
      return false;
    }
    context_.io.err << "kbench-client: given up: job " << JobId(turn_.job.name()) << " is cancelled"
                    << std::endl;
    return false;
  }

  Context& context_;
  const Backend& backend_;
  Turn turn_;
};

}  // namespace

void HoldOptions::Declare(Arguments& arguments) {
  arguments.Positional("DEVICE", &device, "As `devices` lists it: gpu0, cpu, a UUID");
  arguments.Option("--for", &time, "TIME", "How long at most: 90s, 30m, 2h");
  arguments.Option("--queue-timeout", &queue_timeout, "TIME", "Give up unless it begins by then");
}

absl::StatusOr<kbench::v1::JobSpec> HoldOptions::Spec() const {
  kbench::v1::JobSpec spec;
  spec.set_device(device);
  KB_ASSIGN_OR_RETURN(const double seconds, ReadHoldTime(time));
  *spec.mutable_hold()->mutable_duration() = ToDuration(seconds);
  if (!queue_timeout.empty()) {
    KB_ASSIGN_OR_RETURN(const double timeout,
                        ReadDuration("queue-timeout", queue_timeout, kExamples, kMostDuration));
    *spec.mutable_queue_timeout() = ToDuration(timeout);
  }
  return spec;
}

Turn TakeTurn(Context& context, const Backend& backend, kbench::v1::JobSpec spec) {
  auto job = SubmitSpec(backend, std::move(spec), "");
  if (!job.ok()) {
    Turn turn;
    turn.code = ReportError(context.io, job.status());
    return turn;
  }
  return TurnTaker(context, backend, *std::move(job)).Run();
}

const CaseStatus& PlaceOf(const Job& job) {
  return job.cases().empty() ? CaseStatus::default_instance() : job.cases(0);
}

std::string LeftText(double seconds) {
  const double whole = std::ceil(std::max(0.0, seconds));
  return whole < 120 ? fmt::format("{:.0f} s", whole) : fmt::format("{:.0f} min", whole / 60);
}

std::string BegunText(const Turn& turn) {
  const CaseStatus& place = PlaceOf(turn.job);
  const auto end = static_cast<std::time_t>(static_cast<double>(SystemClock().WallMicros()) * 1e-6 +
                                            turn.left_seconds);
  std::tm local{};
  localtime_r(&end, &local);
  const std::string host = place.hostname().empty() ? "" : " on host " + Plain(place.hostname());
  const std::string uuid =
      place.device_uuid().empty() ? "" : ", CUDA_VISIBLE_DEVICES=" + Plain(place.device_uuid());
  return fmt::format("{}{} is yours until {:%H:%M:%S} (job {}{})", Plain(place.device()), host,
                     local, JobId(turn.job.name()), uuid);
}

void EndHold(Context& context, const Backend& backend, const std::string& job, int exit_code) {
  kbench::v1::EndHoldRequest request;
  request.set_name(job);
  request.set_exit_code(exit_code);
  const auto fired = [&context] { return context.interrupt.fired(); };
  absl::Status status;
  for (int i = 0; i < kEndTries; ++i) {
    // Only a coordinator that is away may be back in a moment.
    const bool away = i == 0 || status.code() == absl::StatusCode::kUnavailable;
    if (!away || (i > 0 && !PauseForConnection(*backend.channel, 1, fired))) break;
    status = Unary<Job>(backend, [&](grpc::ClientContext* call, Job* reply) {
               return backend.jobs->EndHold(call, request, reply);
             }).status();
    if (status.ok() || IsNotHeld(status)) return;
  }
  context.io.err << "kbench-client: the coordinator could not be told that the hold " << JobId(job)
                 << " is over (" << ErrorLines(status).front()
                 << "); it takes the device back by itself" << std::endl;
}

int ExplainLoss(Context& context, const Backend& backend, const std::string& name) {
  const auto job = Look(backend, name);
  if (!job.ok()) return ReportError(context.io, job.status());
  const std::string why = job->message().empty() ? job->reason() : job->message();
  context.io.err << "kbench-client: the device is not yours any more: job " << JobId(name)
                 << " ended " << StateWord(job->state()) << (why.empty() ? "" : ": " + Plain(why))
                 << std::endl;
  return job->state() == kbench::v1::JOB_STATE_CANCELLED ? kExitCancelled : kExitInfrastructure;
}

}  // namespace kbench::client
