// The canonical JSON form of a message on one line, and back. Refuses NaN, infinities and frames
// over the limit. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace kbench {

inline constexpr std::size_t kMaxFrameBytes = 1 << 20;

// One line without the newline. INVALID_ARGUMENT when a number is not finite, RESOURCE_EXHAUSTED
// above kMaxFrameBytes.
absl::StatusOr<std::string> ToFrame(const google::protobuf::Message& message);
// INVALID_ARGUMENT on malformed JSON, unknown fields, or numbers that are not finite.
absl::Status FromFrame(const std::string& line, google::protobuf::Message* message);
// For people and scripts: proto field names, one line, defaults left out.
std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace kbench
