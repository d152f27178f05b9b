// RFC 4648 section 5 without padding: text that survives a shell, a URL and a paste. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>

namespace kbench {

std::string ToBase64Url(const std::string& bytes);
// Nothing when a character does not belong, or the length cannot be.
std::optional<std::string> FromBase64Url(const std::string& text);

}  // namespace kbench
