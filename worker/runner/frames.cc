#include "worker/runner/frames.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/support/json.h"

namespace kbench {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

absl::StatusOr<bool> FrameReader::Fill() {
  char chunk[kReadBytes];
  while (true) {
    const ssize_t count = read(fd_, chunk, sizeof(chunk));
    if (count > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(count));
      return true;
    }
    if (count == 0) return false;
    if (errno != EINTR) {
      return absl::UnavailableError(std::string("reading a frame failed: ") + std::strerror(errno));
    }
  }
}

absl::StatusOr<std::optional<std::string>> FrameReader::Next() {
  while (true) {
    const std::size_t newline = buffer_.find('\n', scanned_);
    if (newline != std::string::npos) {
      std::string line = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      scanned_ = 0;
      if (skipping_) {  // the end of a line that was refused already
        skipping_ = false;
        continue;
      }
      if (line.size() <= kMaxFrameBytes) return std::optional<std::string>(std::move(line));
      return absl::ResourceExhaustedError("a frame is over the limit of " +
                                          std::to_string(kMaxFrameBytes) + " bytes");
    }
    scanned_ = buffer_.size();
    if (scanned_ > kMaxFrameBytes || skipping_) {
      buffer_.clear();
      scanned_ = 0;
      if (!skipping_) {
        skipping_ = true;
        return absl::ResourceExhaustedError("a frame is over the limit of " +
                                            std::to_string(kMaxFrameBytes) + " bytes");
      }
    }
    absl::StatusOr<bool> more = Fill();
    if (!more.ok()) return more.status();
    if (!*more) return std::optional<std::string>();
  }
}

absl::Status FrameWriter::Write(const google::protobuf::Message& message) {
  absl::StatusOr<std::string> line = ToFrame(message);
  if (!line.ok()) return line.status();
  line->push_back('\n');
  const char* data = line->data();
  std::size_t left = line->size();
  while (left > 0) {
    const ssize_t count = write(fd_, data, left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::UnavailableError(std::string("writing a frame failed: ") + std::strerror(errno));
    }
    data += count;
    left -= static_cast<std::size_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace kbench
