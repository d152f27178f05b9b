// The audit log: one JSON object a line for every call that changes something and for every call
// that was refused. Mode 0600, rotated by size (audit.log, audit.log.1, ...). It holds no secret:
// whose credential it was stands there by id. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "proto/support/mutex.h"

namespace kbench::server::auth {

struct AuditEntry {
  std::int64_t wall_micros = 0;
  std::string method;
  std::string owner;
  std::string role;
  std::string credential;
  std::string peer;
  std::string code;    // "OK", "PERMISSION_DENIED"; empty: the call goes on
  std::string reason;  // of a refusal: "ROLE_TOO_LOW"
  std::string job;     // which the call was about; of a call refused at the gate nobody has read it
  std::string device;  // likewise
  std::string subject;  // likewise: "schedule nightly", a cell
};

// One line without its end.
std::string FormatAudit(const AuditEntry& entry);

class AuditLog {
 public:
  // `most_bytes`: of one file; `kept`: how many older ones stay.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                        std::int64_t most_bytes, int kept = 3);
  ~AuditLog();

  // A line that cannot be written is told once in the server's log, and lost: a full disk must not
  // stop the queue.
  void Write(const AuditEntry& entry);

 private:
  AuditLog(std::string path, std::int64_t most_bytes, int kept, int fd, std::int64_t size)
      : path_(std::move(path)), most_bytes_(most_bytes), kept_(kept), fd_(fd), size_(size) {}
  void Rotate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const std::int64_t most_bytes_;
  const int kept_;
  Mutex mutex_;
  int fd_ ABSL_GUARDED_BY(mutex_);
  std::int64_t size_ ABSL_GUARDED_BY(mutex_);
  bool complained_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kbench::server::auth
