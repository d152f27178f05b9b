#include "kernels/triton_aot/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace kbench::aot {
namespace {

// Recursive descent: condition, comparison, sum, product, atom. After the first error nothing moves
// on, and what is returned means nothing.
class Reader {
 public:
  Reader(std::string_view text, const Names& names) : text_(text), names_(names) {}

  std::int64_t All() {
    const std::int64_t value = Condition();
    if (Peek() != '\0') Fail("'" + std::string(text_.substr(at_)) + "' is not understood");
    return value;
  }
  const std::string& error() const { return error_; }

 private:
  // `and` of one or more: of one it is that one's own value, as of Python's there.
  std::int64_t Condition();
  std::int64_t Comparison();
  std::int64_t Sum();
  std::int64_t Product();
  std::int64_t Atom();
  std::int64_t Number();
  std::int64_t Call(std::string_view function);
  std::int64_t Divide(std::int64_t left, std::int64_t right, char operation);

  std::int64_t Fail(const std::string& why) {
    if (error_.empty()) error_ = "'" + std::string(text_) + "': " + why;
    at_ = text_.size();
    return 0;
  }
  std::int64_t Checked(bool overflow, std::int64_t value) {
    return overflow ? Fail("a value has more than 64 bits") : value;
  }
  char Peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(std::string_view token) {
    Peek();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  // A name or a word at this place, which is moved behind it.
  std::string_view Word() {
    Peek();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  bool TakeAnd() {
    const std::size_t before = at_;
    if (Word() == "and") return true;
    at_ = error_.empty() ? before : text_.size();
    return false;
  }

  const std::string_view text_;
  const Names& names_;
  std::size_t at_ = 0;
  std::string error_;
};

std::int64_t Reader::Condition() {
  std::int64_t value = Comparison();
  while (TakeAnd()) {
    const std::int64_t other = Comparison();
    value = value != 0 && other != 0 ? 1 : 0;
  }
  return value;
}

std::int64_t Reader::Comparison() {
  const std::int64_t left = Sum();
  for (const char* operation : {"<=", ">=", "==", "<", ">"}) {
    if (!Take(operation)) continue;
    const std::int64_t right = Sum();
    switch (operation[0]) {
      case '=':
        return left == right ? 1 : 0;
      case '<':
        return left < right || (operation[1] == '=' && left == right) ? 1 : 0;
      default:
        return left > right || (operation[1] == '=' && left == right) ? 1 : 0;
    }
  }
  return left;
}

std::int64_t Reader::Sum() {
  std::int64_t value = Product();
  while (true) {
    std::int64_t result = 0;
    if (Take("+")) {
      const std::int64_t right = Product();
      const bool overflow = __builtin_add_overflow(value, right, &result);
      value = Checked(overflow, result);
    } else if (Take("-")) {
      const std::int64_t right = Product();
      const bool overflow = __builtin_sub_overflow(value, right, &result);
      value = Checked(overflow, result);
    } else {
      return value;
    }
  }
}

std::int64_t Reader::Product() {
  std::int64_t value = Atom();
  while (true) {
    if (Take("//")) {
      value = Divide(value, Atom(), '/');
    } else if (Take("%")) {
      value = Divide(value, Atom(), '%');
    } else if (Take("*")) {
      std::int64_t result = 0;
      const std::int64_t right = Atom();
      const bool overflow = __builtin_mul_overflow(value, right, &result);
      value = Checked(overflow, result);
    } else {
      return value;
    }
  }
}

// Towards minus infinity, as Python divides; `c` is cdiv.
std::int64_t Reader::Divide(std::int64_t left, std::int64_t right, char operation) {
  if (right == 0) return Fail("divides by 0");
  if (right == -1) {
    if (operation == '%') return 0;
    return left == INT64_MIN ? Checked(true, 0) : -left;
  }
  const std::int64_t rest = left % right;
  const bool exact = rest == 0, same_sign = (rest < 0) == (right < 0);
  if (operation == '%') return exact || same_sign ? rest : rest + right;
  const std::int64_t down = left / right - (exact || same_sign ? 0 : 1);
  return operation == '/' || exact ? down : down + 1;
}

std::int64_t Reader::Atom() {
  const char next = Peek();
  if (Take("(")) {
    const std::int64_t value = Condition();
    return Take(")") ? value : Fail("a ')' is missing");
  }
  if (std::isdigit(static_cast<unsigned char>(next)) != 0) return Number();
  const std::string_view name = Word();
  if (name.empty()) return Fail("a number or a name is missing");
  if (Peek() == '(') return Call(name);
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  std::string known;
  for (const auto& [each, value] : names_) known += (known.empty() ? "" : ", ") + each;
  return Fail("names '" + std::string(name) + "'; there are: " + known);
}

std::int64_t Reader::Number() {
  const std::string_view digits = Word();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size()) return value;
  return Fail("'" + std::string(digits) + "' is no whole number of 64 bits");
}

std::int64_t Reader::Call(std::string_view function) {
  if (function != "cdiv" && function != "min" && function != "max") {
    return Fail("'" + std::string(function) + "' is no function: cdiv, min and max are");
  }
  Take("(");
  const std::int64_t left = Condition();
  if (!Take(",")) return Fail(std::string(function) + " takes two values");
  const std::int64_t right = Condition();
  if (!Take(")")) return Fail(std::string(function) + " takes two values");
  if (function == "cdiv") return Divide(left, right, 'c');
  return function == "min" ? std::min(left, right) : std::max(left, right);
}

}  // namespace

Expected<std::int64_t, std::string> Evaluate(std::string_view expression, const Names& names) {
  Reader reader(expression, names);
  const std::int64_t value = reader.All();
  if (!reader.error().empty()) return reader.error();
  return value;
}

}  // namespace kbench::aot
