#include "client/hold/keeper.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "proto/support/error.h"

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

Keeper::Keeper(const Backend& backend, std::string job, double lapse_seconds,
               std::function<void()> lost)
    : backend_(backend),
      job_(std::move(job)),
      pause_seconds_(lapse_seconds / 4),
      lost_(std::move(lost)),
      thread_([this] { Loop(); }) {}

Keeper::~Keeper() {
  stop_.Fire();
  thread_.join();
}

void Keeper::Loop() {
  double pause = pause_seconds_;
  while (stop_.Sleep(pause)) {
    const auto kept = KeepOnce(backend_, job_, &stop_);
    if (stop_.fired()) return;
    if (!kept.ok() && IsNotHeld(kept.status())) {
      lost_();
      return;
    }
    pause = kept.ok() ? pause_seconds_ : std::min(kRetrySeconds, pause_seconds_);
  }
}

}  // namespace kbench::client
