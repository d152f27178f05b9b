#include "client/report/line_count.h"

#include <cctype>
#include <regex>
#include <sstream>

namespace kbench::client {
namespace {

// Walks through a text and remembers whether the line has code so far.
class Walker {
 public:
  explicit Walker(const std::string& text) : text_(text) {}

  bool done() const { return at_ >= text_.size(); }
  char now() const { return text_[at_]; }
  bool At(const std::string& word) const { return text_.compare(at_, word.size(), word) == 0; }
  bool FirstInLine() const { return !code_; }
  int count() const { return count_ + (code_ ? 1 : 0); }

  void Code(std::size_t characters) {
    for (std::size_t i = 0; i < characters && !done(); ++i) Step(true);
  }
  void Comment(std::size_t characters) {
    for (std::size_t i = 0; i < characters && !done(); ++i) Step(false);
  }
  // Up to and with `end`.
  void Until(const std::string& end, bool code) {
    while (!done() && !At(end)) Step(code);
    code ? Code(end.size()) : Comment(end.size());
  }
  // Not the line's end itself.
  void ToLineEnd() {
    while (!done() && now() != '\n') Step(false);
  }
  // A text in `quote`, with escapes.
  void Quoted(char quote) {
    Code(1);
    while (!done() && now() != quote && now() != '\n') Code(now() == '\\' ? 2 : 1);
    Code(1);
  }
  char before() const { return at_ == 0 ? '\n' : text_[at_ - 1]; }

 private:
  void Step(bool code) {
    const char c = text_[at_++];
    if (c == '\n') {
      if (code_) ++count_;
      code_ = false;
    } else if (code && std::isspace(static_cast<unsigned char>(c)) == 0) {
      code_ = true;
    }
  }

  const std::string& text_;
  std::size_t at_ = 0;
  bool code_ = false;
  int count_ = 0;
};

int CountCpp(const std::string& text) {
  Walker walker(text);
  while (!walker.done()) {
    if (walker.At("//")) {
      walker.ToLineEnd();
    } else if (walker.At("/*")) {
      walker.Comment(2);
      walker.Until("*/", false);
    } else if (walker.At("R\"(")) {
      walker.Until(")\"", true);
    } else if (walker.now() == '"') {
      walker.Quoted('"');
    } else if (walker.now() == '\'' &&
               std::isalnum(static_cast<unsigned char>(walker.before())) == 0) {
      walker.Quoted('\'');  // not the one in 1'000
    } else {
      walker.Code(1);
    }
  }
  return walker.count();
}

int CountPython(const std::string& text) {
  Walker walker(text);
  while (!walker.done()) {
    if (walker.now() == '#') {
      walker.ToLineEnd();
    } else if (walker.At("\"\"\"")) {
      const bool code = !walker.FirstInLine();
      code ? walker.Code(3) : walker.Comment(3);
      walker.Until("\"\"\"", code);
    } else if (walker.now() == '"' || walker.now() == '\'') {
      walker.Quoted(walker.now());
    } else {
      walker.Code(1);
    }
  }
  return walker.count();
}

}  // namespace

Language LanguageOf(const std::string& path) {
  const bool python = path.size() > 3 && path.compare(path.size() - 3, 3, ".py") == 0;
  return python ? Language::kPython : Language::kCpp;
}

int CountLines(const std::string& text, Language language) {
  return language == Language::kPython ? CountPython(text) : CountCpp(text);
}

std::vector<std::string> DeviceHeaders(const std::string& text) {
  static const std::regex include("^#include \"([^\"]+\\.cuh)\"");
  std::vector<std::string> headers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, include)) headers.push_back(found[1]);
  }
  return headers;
}

}  // namespace kbench::client
