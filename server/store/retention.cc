#include "server/store/retention.h"

#include <charconv>
#include <string_view>

#include "proto/support/error.h"

namespace kbench::store {
namespace {

struct Unit {
  const char* name;
  double factor;
  bool bytes;
};
// The largest first: the text of a bound uses the first that divides it.
constexpr Unit kUnits[] = {{"TiB", 1099511627776.0, true},
                           {"GiB", 1073741824.0, true},
                           {"MiB", 1048576.0, true},
                           {"KiB", 1024.0, true},
                           {"B", 1.0, true},
                           {"d", 86400.0, false},
                           {"h", 3600.0, false},
                           {"m", 60.0, false},
                           {"s", 1.0, false}};
constexpr double kMost = 1e15;

absl::Status Wrong(const std::string& text) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "'" + text + "' says neither an age nor a size; give 30d, 4GiB, 30d,4GiB or " +
                       "forever (units s m h d, B KiB MiB GiB TiB)",
                   {.reason = "BAD_RETENTION"});
}

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (name == unit.name) return &unit;
  }
  return nullptr;
}

// One bound; false where it is none, or is given twice.
bool ParseBound(std::string_view word, Keep& keep) {
  std::int64_t number = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
  if (read.ec != std::errc() || number <= 0) return false;
  const Unit* unit = FindUnit(word.substr(static_cast<std::size_t>(read.ptr - word.data())));
  if (unit == nullptr) return false;
  const double value = static_cast<double>(number) * unit->factor;
  if (value > kMost) return false;
  if (unit->bytes) {
    if (keep.bytes != 0) return false;
    keep.bytes = static_cast<std::int64_t>(value);
    return true;
  }
  if (keep.seconds != 0) return false;
  keep.seconds = value;
  return true;
}

std::string BoundText(double value, bool bytes) {
  for (const Unit& unit : kUnits) {
    if (unit.bytes != bytes) continue;
    const auto factor = static_cast<std::int64_t>(unit.factor);
    const auto whole = static_cast<std::int64_t>(value);
    if (whole % factor == 0) return std::to_string(whole / factor) + unit.name;
  }
  return "";
}

}  // namespace

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kSamples:
      return "samples";
    case Kind::kLogs:
      return "logs";
    case Kind::kArtifacts:
      return "artifacts";
    case Kind::kEvents:
      return "events";
  }
  return "";
}

absl::StatusOr<Keep> ParseKeep(const std::string& text) {
  Keep keep;
  if (text == "forever") return keep;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    if (!ParseBound(rest.substr(0, comma), keep)) return Wrong(text);
    if (comma == std::string_view::npos) return keep;
    rest.remove_prefix(comma + 1);
  }
}

std::string KeepText(const Keep& keep) {
  std::string text;
  if (keep.seconds > 0) text = BoundText(keep.seconds, false);
  if (keep.bytes > 0) {
    text += (text.empty() ? "" : ",") + BoundText(static_cast<double>(keep.bytes), true);
  }
  return text.empty() ? "forever" : text;
}

}  // namespace kbench::store
