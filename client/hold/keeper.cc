#include "client/hold/keeper.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/reconnect.h"

namespace kbench::client {
namespace {

constexpr int kCallSeconds = 10;
constexpr double kRetrySeconds = 2;

}  // namespace

absl::StatusOr<kbench::v1::KeepHoldResponse> KeepOnce(const Backend& backend,
                                                      const std::string& job, Interrupt* stop) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kCallSeconds));
  std::unique_ptr<Interrupt::Hook> hook;
  if (stop != nullptr) {
    hook = std::make_unique<Interrupt::Hook>(*stop, [&context] { context.TryCancel(); });
    if (stop->fired()) return absl::CancelledError();
  }
  kbench::v1::KeepHoldRequest request;
  request.set_name(job);
  kbench::v1::KeepHoldResponse response;
  const grpc::Status status = backend.jobs->KeepHold(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

bool IsNotHeld(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition ||
         status.code() == absl::StatusCode::kNotFound;
}

Keeper::Keeper(const Backend& backend, std::string job, double lapse_seconds, Notices notices)
    : backend_(backend),
      job_(std::move(job)),
      lapse_seconds_(lapse_seconds),
      pause_seconds_(lapse_seconds / 4),
      notices_(std::move(notices)),
      thread_([this] { Loop(); }) {}

Keeper::~Keeper() {
  stop_.Fire();
  thread_.join();
}

void Keeper::Loop() {
  const auto stopped = [this] { return stop_.fired(); };
  double answered_at = SystemClock().SteadySeconds();
  bool unsure = false;
  bool go_on = stop_.Sleep(pause_seconds_);
  while (go_on) {
    const auto kept = KeepOnce(backend_, job_, &stop_);
    if (stop_.fired()) return;
    if (!kept.ok() && IsNotHeld(kept.status())) {
      notices_.lost();
      return;
    }
    const double now = SystemClock().SteadySeconds();
    if (kept.ok()) answered_at = now;
    if (unsure != (now - answered_at >= lapse_seconds_)) {
      unsure = !unsure;
      notices_.unsure(unsure);
    }
    go_on = kept.ok() ? stop_.Sleep(pause_seconds_)
                      : PauseForConnection(*backend_.channel,
                                           std::min(kRetrySeconds, pause_seconds_), stopped);
  }
}

}  // namespace kbench::client
