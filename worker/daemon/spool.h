// Results on the worker's disk until the coordinator has acknowledged them: written to a temporary
// file, synced, renamed. One file an attempt. Bounded: beyond that, a result is kept without its
// artifacts (samples, logs, code). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kbench/v1/worker_service.pb.h"
#include "proto/support/mutex.h"

namespace kbench {

class Spool {
 public:
  // Creates the folder and removes what a crash left half written.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const std::string& dir,
                                                     std::int64_t most_bytes = kMostBytes);
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

  // Durable when it returns OK.
  absl::Status Put(const v1::AttemptResult& result);
  // Everything unacknowledged, oldest first. Files that cannot be read are set aside, not lost.
  std::vector<v1::AttemptResult> List() const;
  absl::StatusOr<v1::AttemptResult> Load(const v1::AttemptId& id) const;
  void Remove(const v1::AttemptId& id);

 private:
  Spool(std::string dir, std::int64_t most_bytes) : dir_(std::move(dir)), most_bytes_(most_bytes) {}
  std::int64_t Bytes() const;
  std::string PathOf(const v1::AttemptId& id) const;

  const std::string dir_;
  const std::int64_t most_bytes_;
  mutable Mutex mutex_;
};

}  // namespace kbench
