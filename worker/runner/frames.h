// Frames on descriptors: one line each, at most 1 MiB. The reader never holds more than that,
// whatever the other side sends; the writer writes whole lines. Each is used from one thread; the
// descriptors stay the caller's.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace kbench {

class FrameReader {
 public:
  explicit FrameReader(int fd) : fd_(fd) {}

  // The next line without its newline; nothing at the end of file (a last line without a newline is
  // dropped: its writer died). RESOURCE_EXHAUSTED for a line over the limit: it is skipped, and the
  // next call gives the line behind it. UNAVAILABLE when reading fails.
  absl::StatusOr<std::optional<std::string>> Next();

 private:
  // Reads what is there, one read() call. False at the end of file.
  absl::StatusOr<bool> Fill();

  const int fd_;
  std::string buffer_;       // read and not yet handed out
  std::size_t scanned_ = 0;  // of the buffer: holds no newline
  bool skipping_ = false;    // inside a line that is over the limit
};

class FrameWriter {
 public:
  explicit FrameWriter(int fd) : fd_(fd) {}

  // INVALID_ARGUMENT or RESOURCE_EXHAUSTED when the message makes no frame (nothing is written),
  // UNAVAILABLE when the other side is gone.
  absl::Status Write(const google::protobuf::Message& message);

 private:
  const int fd_;
};

}  // namespace kbench
