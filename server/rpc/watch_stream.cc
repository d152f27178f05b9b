#include "server/rpc/watch_stream.h"

#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/rpc_status.h"

namespace kbench::server {
namespace {

using kbench::v1::JobEvent;

constexpr std::size_t kMostEvents = 4096;
// An event in memory takes twice its bytes on the wire: a reader that stops costs less than 1 MiB.
constexpr std::size_t kMostBytes = 384u << 10;
constexpr std::size_t kEventBytes = 256;  // of even the smallest

constexpr double kPingSeconds = 15;

std::size_t BytesOf(const JobEvent& event) { return event.ByteSizeLong() + kEventBytes; }

absl::Status TooSlow(std::int64_t last_sequence) {
  return MakeError(
      absl::StatusCode::kAborted,
      fmt::format("the watcher reads too slowly; resume with after_sequence={}", last_sequence),
      {.reason = "SLOW_WATCHER",
       .metadata = {{"after_sequence", std::to_string(last_sequence)}},
       .retry_after_seconds = 1});
}

}  // namespace

std::shared_ptr<WatchStream> WatchStream::Make(std::function<void(const Watcher*)> on_done) {
  std::shared_ptr<WatchStream> stream(new WatchStream(std::move(on_done)));
  stream->self_ = stream;
  return stream;
}

void WatchStream::Deliver(Event event) {
  {
    MutexLock lock(mutex_);
    if (closing_ || finished_) return;
    // The snapshot may already hold what was on its way when it was taken.
    if (!event->has_snapshot() && !event->has_final() && event->sequence() <= last_sequence_) {
      return;
    }
    last_sequence_ = event->sequence();
    const std::size_t bytes = BytesOf(*event);
    if (queue_.size() >= kMostEvents || (!queue_.empty() && queued_bytes_ + bytes > kMostBytes)) {
      const std::int64_t resume = queue_.front()->sequence() - 1;
      queue_.clear();
      queued_bytes_ = 0;
      closing_ = TooSlow(resume);
    } else {
      queued_bytes_ += bytes;
      queue_.push_back(std::move(event));
    }
  }
  Pump();
}

void WatchStream::Ephemeral(const JobEvent& event) {
  {
    MutexLock lock(mutex_);
    if (closing_ || finished_) return;
    ephemeral_[event.event_case()] = std::make_shared<const JobEvent>(event);
  }
  Pump();
}

void WatchStream::Close(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    if (closing_ || finished_) return;
    closing_ = status;
    // An error ends the stream now; a good end comes after what waits.
    if (!status.ok()) queue_.clear();
  }
  Pump();
}

void WatchStream::Tick(double now) {
  {
    MutexLock lock(mutex_);
    now_ = now;
    if (last_write_ == 0) last_write_ = now;
    if (writing_ != nullptr || now - last_write_ < kPingSeconds) return;
  }
  JobEvent ping;
  ping.set_ping(true);
  Ephemeral(ping);
}

void WatchStream::Pump() {
  Event next;
  std::optional<absl::Status> end;
  {
    MutexLock lock(mutex_);
    if (writing_ != nullptr || finished_) return;
    if (!queue_.empty()) {
      next = std::move(queue_.front());
      queue_.pop_front();
      queued_bytes_ -= BytesOf(*next);
    } else if (closing_) {
      end = closing_;
      finished_ = true;
    } else if (!ephemeral_.empty()) {
      next = std::move(ephemeral_.begin()->second);
      ephemeral_.erase(ephemeral_.begin());
    }
    writing_ = next;
    if (next != nullptr) last_write_ = now_;
  }
  if (next != nullptr) StartWrite(next.get());
  if (end) Finish(ToGrpc(*end));
}

void WatchStream::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = nullptr;
    if (!ok) {
      queue_.clear();
      ephemeral_.clear();
      if (!closing_) closing_ = absl::CancelledError("the watcher has gone");
    }
  }
  Pump();
}

void WatchStream::OnCancel() { Close(absl::CancelledError("the watcher has gone")); }

void WatchStream::OnDone() {
  const std::shared_ptr<WatchStream> self = std::move(self_);
  on_done_(this);
}

}  // namespace kbench::server
