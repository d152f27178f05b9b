// Results on the worker's disk until the coordinator has acknowledged them: written to a temporary
// file, synced, renamed. One file an attempt. Thread-safe.
#pragma once

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
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const std::string& dir);

  // Durable when it returns OK.
  absl::Status Put(const v1::AttemptResult& result);
  // Everything unacknowledged, oldest first. Files that cannot be read are set aside, not lost.
  std::vector<v1::AttemptResult> List() const;
  absl::StatusOr<v1::AttemptResult> Load(const v1::AttemptId& id) const;
  void Remove(const v1::AttemptId& id);

 private:
  explicit Spool(std::string dir) : dir_(std::move(dir)) {}
  std::string PathOf(const v1::AttemptId& id) const;

  const std::string dir_;
  mutable Mutex mutex_;
};

}  // namespace kbench
