// Counts as people write them: 4096, 2^26, 64Mi, 3k.
#include <cctype>

#include "kernels/catalog/sweep.h"
#include "kernels/catalog/words.h"

namespace kbench {
namespace {

using catalog::Quote;

constexpr std::int64_t kMost = std::int64_t{1} << 62;
constexpr char kGrammar[] = "a whole number such as 4096, 2^12, 3k or 4Ki";

struct Suffix {
  const char* text;
  std::int64_t factor;
};
constexpr Suffix kSuffixes[] = {
    {"", 1},
    {"k", 1000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
    {"T", 1'000'000'000'000},
    {"Ki", std::int64_t{1} << 10},
    {"Mi", std::int64_t{1} << 20},
    {"Gi", std::int64_t{1} << 30},
    {"Ti", std::int64_t{1} << 40},
};

CatalogError Bad(const std::string& message, std::vector<std::string> nearest) {
  return {"size", "BAD_SIZE", message, std::move(nearest)};
}

CatalogError TooLarge(const std::string& text) {
  return Bad(Quote(text) + " is too large: a size is at most 2^62", {"2^62"});
}

// Digits at `pos`, which moves behind them; -1 when the number exceeds 2^62.
std::int64_t ReadDigits(const std::string& text, std::size_t& pos) {
  std::int64_t value = 0;
  bool overflow = false;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos) {
    overflow = overflow || __builtin_mul_overflow(value, 10, &value) ||
               __builtin_add_overflow(value, text[pos] - '0', &value) || value > kMost;
  }
  return overflow ? -1 : value;
}

std::int64_t Power(std::int64_t base, std::int64_t exponent) {
  if (base <= 1) return exponent == 0 ? 1 : base;
  std::int64_t value = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(value, base, &value) || value > kMost) return -1;
  }
  return value;
}

// What a person may have meant by a text that is no count.
std::vector<std::string> Guess(const std::string& text) {
  std::string digits;
  std::size_t pos = text.find_first_of("0123456789");
  if (pos != std::string::npos) {
    std::size_t end = pos;
    const std::int64_t value = ReadDigits(text, end);
    if (value > 0) digits = std::to_string(value);
    if (value > 0 && end < text.size()) {
      const char unit = static_cast<char>(std::toupper(static_cast<unsigned char>(text[end])));
      if (unit == 'K') return {digits + "Ki", digits + "k"};
      if (unit == 'M' || unit == 'G' || unit == 'T') return {digits + unit + "i", digits + unit};
    }
  }
  return digits.empty() || digits == "1" ? std::vector<std::string>{"1"}
                                         : std::vector<std::string>{digits, "1"};
}

}  // namespace

Expected<std::int64_t, CatalogError> ParseCount(const std::string& text) {
  if (text.empty()) return Bad(std::string("a size is missing: expected ") + kGrammar, {"1"});
  if (text[0] == '-' && text.size() > 1 && text[1] >= '0' && text[1] <= '9') {
    return Bad("the size " + Quote(text) + " is negative: the smallest is 1", Guess(text));
  }
  const CatalogError not_a_count =
      Bad("the size " + Quote(text) + " is not " + kGrammar, Guess(text));
  std::size_t pos = 0;
  std::int64_t value = ReadDigits(text, pos);
  if (pos == 0) return not_a_count;
  if (value >= 0 && pos < text.size() && text[pos] == '^') {
    const std::size_t start = ++pos;
    const std::int64_t exponent = ReadDigits(text, pos);
    if (pos == start) return not_a_count;
    value = exponent < 0 && value > 1 ? -1 : Power(value, exponent);
  }
  std::int64_t factor = 0;
  const std::string rest = text.substr(pos);
  for (const Suffix& suffix : kSuffixes) {
    if (rest == suffix.text) factor = suffix.factor;
  }
  if (factor == 0) return not_a_count;
  if (value < 0 || __builtin_mul_overflow(value, factor, &value) || value > kMost) {
    return TooLarge(text);
  }
  if (value == 0) return Bad("the size " + Quote(text) + " is zero: the smallest is 1", {"1"});
  return value;
}

}  // namespace kbench
