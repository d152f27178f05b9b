#include "tests/load/watching.h"

#include <chrono>

#include "proto/support/clock.h"

namespace kbench::load {

void OpenStreams::Begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++open_;
}

void OpenStreams::End() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --open_;
  changed_.notify_all();
}

void OpenStreams::Attached() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++attached_;
  changed_.notify_all();
}

bool OpenStreams::WaitForNone(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return open_ == 0; });
}

bool OpenStreams::WaitForAttached(int count, double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return attached_ >= count; });
}

Watching::Watching(kbench::v1::JobService::Stub& stub, const std::string& job, bool reads,
                   OpenStreams& streams)
    : reads_(reads), streams_(streams) {
  request_.set_name(job);
  streams_.Begin();
  stub.async()->WatchJob(&context_, &request_, this);
  StartRead(&event_);
  StartCall();
}

void Watching::Note() {
  if (event_.has_snapshot()) {
    last_ = event_.sequence();
    streams_.Attached();
    return;
  }
  if (event_.sequence() == 0) return;  // ephemeral
  if (event_.has_final()) {
    // It is itself the last durable event, or comes right after the snapshot that holds it.
    good_ = good_ && !final_ && (event_.sequence() == last_ + 1 || event_.sequence() == last_);
    final_ = true;
  } else {
    good_ = good_ && !final_ && event_.sequence() == last_ + 1;
  }
  last_ = event_.sequence();
  const std::int64_t now = SystemClock().WallMicros();
  delays_.Add(static_cast<double>(now - ToMicros(event_.time())) * 1e-6);
}

void Watching::OnReadDone(bool ok) {
  if (!ok) return;
  Note();
  if (reads_ || event_.sequence() == 0) StartRead(&event_);
}

void Watching::OnDone(const grpc::Status& status) {
  good_ = good_ && (status.ok() || !reads_);
  streams_.End();
}

}  // namespace kbench::load
