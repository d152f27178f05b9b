// Page tokens: only one of this listing is taken, and it says the row it was made for.
#include "server/store/page_token.h"

#include <cstdint>
#include <string>

#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string token = text.substr(0, size / 2);
  const std::string filter = text.substr(size / 2);
  const auto row = kbench::store::ReadPageToken(token, filter);
  if (row.ok() && !token.empty()) {
    KB_FUZZ_CHECK(*row > 0);
    KB_FUZZ_CHECK(kbench::store::MakePageToken(*row, filter) == token);
  }
  const std::int64_t id = static_cast<std::int64_t>(size) + 1;
  const auto again = kbench::store::ReadPageToken(kbench::store::MakePageToken(id, filter), filter);
  KB_FUZZ_CHECK(again.ok() && *again == id);
  KB_FUZZ_CHECK(
      !kbench::store::ReadPageToken(kbench::store::MakePageToken(id, filter + "x"), filter).ok());
  return 0;
}
