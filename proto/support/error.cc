#include "proto/support/error.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/support/clock.h"
#include "proto/support/utf8.h"

namespace kbench {
namespace {

constexpr char kDomain[] = "kbench";

// Texts may quote what somebody sent, or the name of a file: they stay one line, move no terminal's
// cursor, and are UTF-8, without which the details of the error could not be read again.
std::string OneLine(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t bytes = Utf8Bytes(text, at);
    if (bytes == 0 || byte < 0x20 || byte == 0x7f) text[at] = '?';
    at += bytes == 0 ? 1 : bytes;
  }
  return text;
}

std::string CleanText(const std::string& text) { return OneLine(CutText(text, kMostErrorBytes)); }

google::rpc::Status ToRpcStatus(absl::StatusCode code, const std::string& message,
                                const ErrorDetails& details) {
  google::rpc::Status rpc;
  rpc.set_code(static_cast<int>(code));
  rpc.set_message(CleanText(message));
  google::rpc::ErrorInfo info;
  info.set_domain(kDomain);
  info.set_reason(details.reason);
  for (const auto& [key, value] : details.metadata) {
    (*info.mutable_metadata())[key] = CleanText(value);
  }
  rpc.add_details()->PackFrom(info);
  if (!details.violations.empty()) {
    google::rpc::BadRequest bad;
    for (const FieldViolation& violation : details.violations) {
      auto* out = bad.add_field_violations();
      out->set_field(CleanText(violation.field));
      out->set_description(CleanText(violation.description));
    }
    rpc.add_details()->PackFrom(bad);
  }
  if (details.retry_after_seconds > 0) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = ToDuration(details.retry_after_seconds);
    rpc.add_details()->PackFrom(retry);
  }
  return rpc;
}

// Levenshtein distance over bytes, case ignored; the words here are short.
std::size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                        std::tolower(static_cast<unsigned char>(b[j - 1]));
      const std::size_t replace = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::Status MakeError(absl::StatusCode code, const std::string& message,
                       const ErrorDetails& details) {
  absl::Status status(code, CleanText(message));
  status.SetPayload(kRpcStatusPayload,
                    absl::Cord(ToRpcStatus(code, message, details).SerializeAsString()));
  return status;
}

ErrorDetails DetailsOf(const absl::Status& status) {
  ErrorDetails details;
  const auto payload = status.GetPayload(kRpcStatusPayload);
  google::rpc::Status rpc;
  if (!payload.has_value() || !rpc.ParseFromString(std::string(*payload))) return details;
  for (const auto& any : rpc.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    google::rpc::RetryInfo retry;
    if (any.UnpackTo(&info)) {
      details.reason = info.reason();
      details.metadata = {info.metadata().begin(), info.metadata().end()};
    } else if (any.UnpackTo(&bad)) {
      for (const auto& violation : bad.field_violations()) {
        details.violations.push_back({violation.field(), violation.description()});
      }
    } else if (any.UnpackTo(&retry)) {
      details.retry_after_seconds = ToSeconds(retry.retry_delay());
    }
  }
  return details;
}

std::string CutText(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

std::vector<std::string> NearestWords(const std::string& word,
                                      const std::vector<std::string>& candidates,
                                      std::size_t most) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    ranked.emplace_back(EditDistance(word, candidate), candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (const auto& [distance, candidate] : ranked) {
    if (nearest.size() == most) break;
    nearest.push_back(candidate);
  }
  return nearest;
}

}  // namespace kbench
