// Errors with details: an absl::Status that carries what google.rpc's error details say, so that
// the same error reads well in a log, on a terminal and over gRPC. Thread-compatible values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kbench {

// One wrong field: its path ("spec.cases[3].dtype"), what was wrong and what would be right.
struct FieldViolation {
  std::string field;
  std::string description;
};

struct ErrorDetails {
  std::string reason;                                // UPPER_SNAKE, required
  std::map<std::string, std::string> metadata = {};  // "nearest" -> "fp16, bf16"
  std::vector<FieldViolation> violations = {};
  double retry_after_seconds = 0;  // above 0: RetryInfo
};

// A status with details attached (as a payload). `message` names what was wrong and what would be
// right. Texts above kMostErrorBytes are cut; control characters, and bytes that are not UTF-8,
// become '?'.
absl::Status MakeError(absl::StatusCode code, const std::string& message,
                       const ErrorDetails& details);

// Details of a status made by MakeError or received over gRPC; empty reason when there are none.
ErrorDetails DetailsOf(const absl::Status& status);

// gRPC refuses more than 8 KiB of metadata in all, and an error's texts travel there twice.
inline constexpr std::size_t kMostErrorBytes = 600;
// At most `most` bytes of UTF-8, with "..." where something was cut.
std::string CutText(const std::string& text, std::size_t most);

std::string MessageOf(const absl::Status& status);

// The payload key under which a serialized google.rpc.Status travels inside an absl::Status.
inline constexpr char kRpcStatusPayload[] = "type.googleapis.com/google.rpc.Status";

// The candidates closest to `word` by edit distance, best first, at most `most`.
std::vector<std::string> NearestWords(const std::string& word,
                                      const std::vector<std::string>& candidates,
                                      std::size_t most = 3);

}  // namespace kbench

// Absl 20220623 has no status macros.
#define KB_CONCAT_INNER(a, b) a##b
#define KB_CONCAT(a, b) KB_CONCAT_INNER(a, b)
#define KB_RETURN_IF_ERROR(expr)                                            \
  do {                                                                      \
    if (absl::Status kb_status = (expr); !kb_status.ok()) return kb_status; \
  } while (false)
#define KB_ASSIGN_OR_RETURN(lhs, expr) \
  KB_ASSIGN_OR_RETURN_IMPL(KB_CONCAT(kb_or_, __LINE__), lhs, expr)
#define KB_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return tmp.status();            \
  lhs = std::move(tmp).value()
