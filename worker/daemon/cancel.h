// A stop signal that wakes a poll(): cancellation of the running attempt. Thread-safe.
#pragma once

#include <atomic>

namespace kbench {

class CancelToken {
 public:
  // kFinished: a hold whose client is done, ended by the coordinator already.
  enum class Why { kNone, kRequested, kFenced, kFinished, kShutdown };

  CancelToken();
  ~CancelToken();
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  // The first reason stays.
  void Cancel(Why why);
  bool cancelled() const { return why_.load() != Why::kNone; }
  Why why() const { return why_.load(); }
  // Becomes readable on Cancel() and stays so.
  int fd() const { return fd_; }

 private:
  std::atomic<Why> why_{Why::kNone};
  int fd_;
};

}  // namespace kbench
