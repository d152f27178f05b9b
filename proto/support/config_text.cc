#include "proto/support/config_text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/utf8.h"

namespace kbench {
namespace {

constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr char kForm[] = "a line is KEY = VALUE, [SECTION] or # and a comment";

bool IsMadeOf(const std::string& text, const std::string& more) {
  return !text.empty() && text.find_first_not_of(kLetters + more) == std::string::npos;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& file) : text_(text), file_(file) {
    if (text_.rfind("\xEF\xBB\xBF", 0) == 0) at_ = 3;  // how some editors begin UTF-8
  }

  absl::StatusOr<std::vector<ConfigEntry>> Read() {
    KB_RETURN_IF_ERROR(CheckText());
    while (SkipBlank()) {
      KB_RETURN_IF_ERROR(text_[at_] == '[' ? ReadSection() : ReadEntry());
      KB_RETURN_IF_ERROR(EndLine());
    }
    return std::move(entries_);
  }

 private:
  absl::Status Wrong(const std::string& message) const {
    return ConfigFault(file_, line_, message);
  }

  absl::Status CheckText() {
    const auto control = [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte == 0x7f || (byte < 0x20 && c != '\n' && c != '\t' && c != '\r');
    };
    const auto odd = std::find_if(text_.begin(), text_.end(), control);
    const std::size_t bad = std::min(
        FirstNoUtf8(text_),
        odd == text_.end() ? std::string::npos : static_cast<std::size_t>(odd - text_.begin()));
    if (bad == std::string::npos) return absl::OkStatus();
    line_ += static_cast<int>(
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(bad), '\n'));
    return Wrong("holds bytes that are no text; write the file as UTF-8");
  }

  bool AtEnd() const { return at_ >= text_.size(); }
  bool AtLineEnd() const { return AtEnd() || text_[at_] == '\n' || text_[at_] == '#'; }

  void SkipSpaces() {
    while (!AtEnd() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }

  // To the next thing that is neither space nor comment; false: there is none.
  bool SkipBlank() {
    for (SkipSpaces(); !AtEnd() && AtLineEnd(); SkipSpaces()) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      if (AtEnd()) return false;
      ++at_;
      ++line_;
    }
    return !AtEnd();
  }

  std::string RestOfLine() const {
    std::string rest = text_.substr(at_, text_.find('\n', at_) - at_);
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.back())) != 0) {
      rest.pop_back();
    }
    return rest;
  }

  // Up to one of `ends` on this line, without the spaces around it.
  std::string WordUntil(const std::string& ends) {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends + "\n#", at_), text_.size());
    std::string word = text_.substr(begin, at_ - begin);
    while (!word.empty() && std::isspace(static_cast<unsigned char>(word.back())) != 0) {
      word.pop_back();
    }
    return word;
  }

  absl::Status ReadSection() {
    const std::string line = RestOfLine();
    ++at_;
    SkipSpaces();
    const std::string name = WordUntil("]");
    if (AtLineEnd() || !IsMadeOf(name, "_-.@/")) {
      return Wrong(fmt::format("'{}' is no section; write it as in [env.default]", line));
    }
    ++at_;
    section_ = name;
    entries_.push_back({section_, "", {}, false, line_});
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadKey() {
    const std::string line = RestOfLine();
    std::string key;
    if (text_[at_] == '"' || text_[at_] == '\'') {
      KB_ASSIGN_OR_RETURN(key, ReadQuoted("a key"));
      SkipSpaces();
    } else {
      key = WordUntil("=");
    }
    if (!IsMadeOf(key, "_-./")) return Wrong(fmt::format("'{}' is no key; {}", line, kForm));
    return key;
  }

  absl::Status ReadEntry() {
    ConfigEntry entry{section_, "", {}, false, line_};
    KB_ASSIGN_OR_RETURN(entry.key, ReadKey());
    const auto same = [&](const ConfigEntry& other) {
      return other.section == section_ && other.key == entry.key;
    };
    const auto before = std::find_if(entries_.begin(), entries_.end(), same);
    if (before != entries_.end()) {
      return Wrong(
          fmt::format("{} stands on line {} already; a key stands once, several values as "
                      "in {} = [\"one\", \"two\"]",
                      entry.key, before->line, entry.key));
    }
    const bool equals = !AtEnd() && text_[at_] == '=';
    if (equals) ++at_;
    SkipSpaces();
    if (!equals || AtLineEnd()) return NoValue(entry.key);
    if (text_[at_] == '[') {
      KB_RETURN_IF_ERROR(ReadList(entry));
    } else {
      KB_ASSIGN_OR_RETURN(std::string value, ReadValue(entry.key, ""));
      entry.values.push_back(std::move(value));
    }
    entries_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  absl::Status NoValue(const std::string& key) const {
    return Wrong(fmt::format(
        "'{0}' has no value; write {0} = \"text\", {0} = 30, {0} = true or {0} = false", key));
  }

  absl::Status ReadList(ConfigEntry& entry) {
    entry.list = true;
    ++at_;
    while (SkipBlank() && text_[at_] != ']') {
      KB_ASSIGN_OR_RETURN(std::string value, ReadValue(entry.key, ",]"));
      entry.values.push_back(std::move(value));
      if (SkipBlank() && text_[at_] == ',') {
        ++at_;
      } else if (!AtEnd() && text_[at_] != ']') {
        return Wrong("the values of " + entry.key + " want a comma between them");
      }
    }
    if (AtEnd()) {
      line_ = entry.line;
      return Wrong("the list of " + entry.key + " has no ] at its end");
    }
    ++at_;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadValue(const std::string& key, const std::string& ends) {
    if (text_[at_] == '"' || text_[at_] == '\'') return ReadQuoted("the value of " + key);
    std::string word = WordUntil(ends);
    if (word.empty()) return NoValue(key);
    if (IsMadeOf(word, "_-./:+%@")) return word;
    return Wrong(
        fmt::format("the value of {} is neither in quotes nor a number, a word, true or "
                    "false; write it as in {} = \"text\"",
                    key, key));
  }

  absl::StatusOr<std::string> ReadQuoted(const std::string& what) {
    const char quote = text_[at_++];
    std::string value;
    for (; !AtEnd() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return value;
      }
      if (quote == '"' && text_[at_] == '\\') {
        const std::string_view escapes = "\"\\nt";
        ++at_;
        const std::size_t found = AtEnd() ? std::string::npos : escapes.find(text_[at_]);
        if (found == std::string::npos) {
          return Wrong(what + " has a \\ that means nothing; write \\\\, or put it in '...'");
        }
        value += "\"\\\n\t"[found];
        continue;
      }
      value += text_[at_];
    }
    return Wrong(fmt::format("{} has no {} at its end", what, quote));
  }

  absl::Status EndLine() {
    SkipSpaces();
    if (AtLineEnd()) return absl::OkStatus();
    return Wrong(fmt::format("'{}' stands behind {}; {}", RestOfLine(),
                             entries_.back().key.empty() ? "the section" : entries_.back().key,
                             kForm));
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::string section_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

absl::Status ConfigFault(const std::string& file, int line, const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   fmt::format("{}:{}: {}", file, line, message),
                   {.reason = "BAD_CONFIGURATION",
                    .metadata = {{"file", file}, {"line", std::to_string(line)}}});
}

absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(const std::string& text,
                                                         const std::string& file) {
  return Reader(text, file).Read();
}

absl::StatusOr<std::vector<ConfigEntry>> ReadConfigFile(const std::string& path) {
  std::error_code error;
  std::ifstream file(path);
  if (std::filesystem::is_directory(path, error) || !file.is_open()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     path + ": the configuration cannot be read; name a file that exists",
                     {.reason = "BAD_CONFIGURATION", .metadata = {{"file", path}}});
  }
  return ParseConfigText({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()},
                         path);
}

}  // namespace kbench
