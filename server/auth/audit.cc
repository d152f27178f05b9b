#include "server/auth/audit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "server/auth/times.h"
#include "spdlog/spdlog.h"

namespace kbench::server::auth {
namespace {

constexpr std::size_t kMostFieldBytes = 256;

int OpenLog(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// What others sent stays one field of one line.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : CutText(text, kMostFieldBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

}  // namespace

std::string FormatAudit(const AuditEntry& entry) {
  std::string line = "{\"time\":" + Quoted(FormatTimeMillis(entry.wall_micros));
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) line += fmt::format(",\"{}\":{}", name, Quoted(value));
  };
  add("method", entry.method);
  add("owner", entry.owner);
  add("role", entry.role);
  add("credential", entry.credential);
  add("peer", entry.peer);
  add("code", entry.code);
  add("reason", entry.reason);
  add("job", entry.job);
  add("device", entry.device);
  add("subject", entry.subject);
  return line + "}";
}

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path,
                                                         std::int64_t most_bytes, int kept) {
  const int fd = OpenLog(path);
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0 || fchmod(fd, 0600) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    return MakeError(absl::StatusCode::kPermissionDenied,
                     "the audit log " + path + " cannot be written: " + why,
                     {.reason = "AUDIT_NOT_WRITABLE"});
  }
  return std::unique_ptr<AuditLog>(new AuditLog(path, most_bytes, kept, fd, info.st_size));
}

AuditLog::~AuditLog() {
  if (fd_ >= 0) close(fd_);
}

void AuditLog::Write(const AuditEntry& entry) {
  const std::string line = FormatAudit(entry) + "\n";
  MutexLock lock(mutex_);
  if (size_ > 0 && size_ + static_cast<std::int64_t>(line.size()) > most_bytes_) Rotate();
  // One write of one line: nothing of another process comes between.
  if (fd_ >= 0 && write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    size_ += static_cast<std::int64_t>(line.size());
    complained_ = false;
  } else if (!complained_) {
    spdlog::error("the audit log {} cannot be written: {}", path_, std::strerror(errno));
    complained_ = true;
  }
}

void AuditLog::Rotate() {
  const auto name = [&](int i) { return i == 0 ? path_ : fmt::format("{}.{}", path_, i); };
  for (int i = kept_; i > 0; --i) std::rename(name(i - 1).c_str(), name(i).c_str());
  if (kept_ == 0) unlink(path_.c_str());
  const int fresh = OpenLog(path_);
  if (fresh < 0) return;  // go on in the old one
  close(fd_);
  fd_ = fresh;
  size_ = 0;
}

}  // namespace kbench::server::auth
