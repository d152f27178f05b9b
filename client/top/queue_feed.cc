#include "client/top/queue_feed.h"

#include <algorithm>
#include <utility>

#include "client/follow.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/reconnect.h"

namespace kbench::client {
namespace {

double Now() { return SystemClock().SteadySeconds(); }

}  // namespace

QueueFeed::QueueFeed(const Backend& backend, kbench::v1::GetQueueRequest request,
                     std::function<void()> changed, const Pauses& pauses)
    : backend_(backend),
      request_(std::move(request)),
      changed_(std::move(changed)),
      pauses_(pauses),
      pause_seconds_(pauses.first_seconds) {
  thread_ = std::thread([this] { Loop(); });
}

QueueFeed::~QueueFeed() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    if (call_ != nullptr) call_->TryCancel();
  }
  thread_.join();
}

QueueFeed::State QueueFeed::Get() const {
  MutexLock lock(mutex_);
  return state_;
}

bool QueueFeed::Pause(double seconds) {
  return PauseForConnection(*backend_.channel, seconds, [this] {
    MutexLock lock(mutex_);
    return stop_;
  });
}

grpc::Status QueueFeed::WatchOnce() {
  grpc::ClientContext context;
  {
    MutexLock lock(mutex_);
    if (stop_) return grpc::Status::CANCELLED;
    call_ = &context;
  }
  auto reader = backend_.jobs->WatchQueue(&context, request_);
  kbench::v1::QueueSnapshot queue;
  while (reader->Read(&queue)) {
    pause_seconds_ = pauses_.first_seconds;
    {
      MutexLock lock(mutex_);
      state_.queue = queue;
      state_.received_at = Now();
      state_.away_since = 0;
    }
    changed_();
  }
  grpc::Status status = reader->Finish();
  MutexLock lock(mutex_);
  call_ = nullptr;
  return status;
}

void QueueFeed::Loop() {
  for (;;) {
    const absl::Status error = FromGrpc(WatchOnce());
    {
      MutexLock lock(mutex_);
      if (stop_) return;
      const bool never = !state_.queue && DetailsOf(error).reason.empty();
      if (!error.ok() && (!Passes(error) || never)) {
        state_.error = Explain(error, backend_.address);
      } else if (state_.away_since == 0) {
        state_.away_since = Now();
      }
    }
    changed_();
    if (!Get().error.ok() || !Pause(pause_seconds_)) return;
    pause_seconds_ = std::min(2 * pause_seconds_, pauses_.longest_seconds);
  }
}

}  // namespace kbench::client
