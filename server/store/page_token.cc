#include "server/store/page_token.h"

#include <charconv>
#include <limits>
#include <vector>

#include "proto/support/error.h"

namespace kbench::store {
namespace {

// FNV-1a: the same in every build, so that a token outlives a restart.
std::uint32_t HashOf(const std::string& text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace

std::string MakePageToken(std::int64_t before_id, const std::string& filter) {
  return std::to_string(before_id) + "." + std::to_string(HashOf(filter));
}

absl::StatusOr<std::int64_t> ReadPageToken(const std::string& token, const std::string& filter) {
  if (token.empty()) return std::numeric_limits<std::int64_t>::max();
  std::int64_t id = 0;
  const char* end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, id);
  if (read.ec == std::errc() && id > 0 && token == MakePageToken(id, filter)) return id;
  ErrorDetails details{.reason = "BAD_PAGE_TOKEN"};
  details.violations.push_back(
      {"page_token", "give the next_page_token of the page before, with the same filter"});
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "the page token is not one of this listing; start again without it", details);
}

}  // namespace kbench::store
