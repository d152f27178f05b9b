#include "worker/daemon/worker_labels.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "fmt/format.h"
#include "proto/support/config_text.h"
#include "proto/support/error.h"

namespace kbench {
namespace {

constexpr std::size_t kMostBytes = 63;

bool IsText(const std::string& text) {
  return text.size() <= kMostBytes && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
         });
}

absl::Status Wrong(const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message, {.reason = "BAD_LABEL"});
}

absl::Status CheckCount(const Labels& labels) {
  if (labels.size() <= kMostDeviceLabels) return absl::OkStatus();
  return Wrong(fmt::format("{} labels are too many: a device has at most {}", labels.size(),
                           kMostDeviceLabels));
}

}  // namespace

absl::Status CheckLabel(const std::string& key, const std::string& value) {
  if (!key.empty() && IsText(key) && IsText(value)) return absl::OkStatus();
  return Wrong(
      fmt::format("'{}={}' is not a label: letters, digits, '.', '_', '-' and '/', at most "
                  "{} on each side, as in rack=a",
                  key, value, kMostBytes));
}

absl::StatusOr<Labels> ParseConfigLabels(std::istream& text, const std::string& file) {
  Labels labels;
  const std::string whole{std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>()};
  KB_ASSIGN_OR_RETURN(const auto entries, ParseConfigText(whole, file));
  for (const ConfigEntry& entry : entries) {
    if (entry.section != "labels" || entry.key.empty()) continue;
    const std::string place = fmt::format("{}:{}: [labels]: ", file, entry.line);
    if (entry.values.size() != 1) {
      return Wrong(fmt::format("{}{} takes one value, as in rack = \"a\"", place, entry.key));
    }
    if (const absl::Status status = CheckLabel(entry.key, entry.values[0]); !status.ok()) {
      return Wrong(place + MessageOf(status));
    }
    labels[entry.key] = entry.values[0];
  }
  if (const absl::Status status = CheckCount(labels); !status.ok()) {
    return Wrong(file + ": [labels]: " + MessageOf(status));
  }
  return labels;
}

absl::StatusOr<Labels> MergeLabels(Labels labels, const std::vector<std::string>& typed) {
  for (const std::string& text : typed) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return Wrong("--label: '" + text + "' is not a label; write it as in --label rack=a");
    }
    const std::string key = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    if (const absl::Status status = CheckLabel(key, value); !status.ok()) {
      return Wrong("--label: " + MessageOf(status));
    }
    labels[key] = value;
  }
  KB_RETURN_IF_ERROR(CheckCount(labels));
  return labels;
}

}  // namespace kbench
