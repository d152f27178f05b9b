#include "client/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>

#include "client/exit_code.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

constexpr std::size_t kMostLines = 8;

// "spec.cases[3].dtype" -> "dtype": a person typed a word or an option, not a path.
std::string FieldWord(const std::string& path, const std::string& reason) {
  if (reason == "BAD_BACKUP_NAME") return path;  // of the other verbs a name is a job's
  if (path == "schedule.name") return "as";      // or the suite's own, which is one of these
  const std::size_t dot = path.rfind('.');
  std::string word = dot == std::string::npos ? path : path.substr(dot + 1);
  const std::size_t bracket = word.find('[');
  if (bracket != std::string::npos) word.resize(bracket);
  static const std::map<std::string, std::string> options = {{"implementations", "impl"},
                                                             {"environments", "env"},
                                                             {"target_ratio", "target"},
                                                             {"case_budget", "budget"},
                                                             {"margin_ratio", "margin"},
                                                             {"if_busy", "if-busy"},
                                                             {"queue_timeout", "queue-timeout"},
                                                             {"request_id", "request-id"},
                                                             {"labels", "label"},
                                                             {"name", "job"}};
  const auto option = options.find(word);
  return option == options.end() ? word : option->second;
}

// One line, whatever a server sends.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
  }
  return text;
}

std::string WithNearest(std::string text, const ErrorDetails& details) {
  const auto nearest = details.metadata.find("nearest");
  if (nearest == details.metadata.end() || nearest->second.empty()) return text;
  if (text.find("nearest") != std::string::npos ||
      text.find(nearest->second) != std::string::npos) {
    return text;
  }
  return text + "; nearest: " + nearest->second;
}

}  // namespace

std::vector<std::string> ErrorLines(const absl::Status& status) {
  const ErrorDetails details = DetailsOf(status);
  std::vector<std::string> lines;
  for (const FieldViolation& violation : details.violations) {
    const std::string field = FieldWord(violation.field, details.reason);
    std::string line = violation.description;
    if (!field.empty() && line.rfind(field + ":", 0) != 0) line = field + ": " + line;
    if (details.violations.size() == 1) line = WithNearest(line, details);
    line = OneLine(line);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (lines.size() > kMostLines) {
    const std::size_t more = lines.size() - kMostLines;
    lines.resize(kMostLines);
    lines.push_back(fmt::format("and {} more faults of this kind", more));
  }
  if (lines.empty()) {
    std::string text = OneLine(MessageOf(status));
    if (text.empty()) text = absl::StatusCodeToString(status.code());
    lines.push_back(WithNearest(text, details));
  }
  if (details.retry_after_seconds > 0) {
    lines.back() += fmt::format("; try again in {:.0f} s", details.retry_after_seconds);
  }
  return lines;
}

int ReportError(Io& io, const absl::Status& status) {
  for (const std::string& line : ErrorLines(status)) io.err << "kbench-client: " << line << "\n";
  io.err.flush();
  return ExitCodeOf(status);
}

int ReportUsage(Io& io, const std::string& message) {
  io.err << "kbench-client: " << OneLine(message) << "\n";
  io.err.flush();
  return kExitUsage;
}

}  // namespace kbench::client
