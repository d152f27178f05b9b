#include "proto/support/utf8.h"

#include <cstdint>

#include "proto/support/error.h"

namespace kbench {

std::size_t Utf8Bytes(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead < 0xC2   ? 0
                            : lead < 0xE0 ? 2
                            : lead < 0xF0 ? 3
                            : lead < 0xF5 ? 4
                                          : 0;
  if (bytes == 0) return 0;
  std::uint32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? 0 : bytes;
}

std::size_t FirstNoUtf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = Utf8Bytes(text, at);
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string::npos;
}

absl::Status CheckWords(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (FirstNoUtf8(word) == std::string::npos) continue;
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "the argument '" + word + "' is not UTF-8 text; write it in UTF-8",
                     {.reason = "BAD_TEXT"});
  }
  return absl::OkStatus();
}

}  // namespace kbench
