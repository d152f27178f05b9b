// What is text: UTF-8, in which every message of the protocol is. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kbench {

// The bytes of the character that begins at `at`; 0: none does. Neither longer forms than needed
// nor surrogates are any.
std::size_t Utf8Bytes(const std::string& text, std::size_t at);

// The first byte that belongs to no character; npos: all is text.
std::size_t FirstNoUtf8(const std::string& text);

// Words of a command line become texts of messages. INVALID_ARGUMENT (BAD_TEXT) names the one that
// is no text.
absl::Status CheckWords(const std::vector<std::string>& words);

}  // namespace kbench
