// The few primitives that credentials need, from libcrypto. Thread-safe.
#pragma once

#include <string>

namespace kbench::server::auth {

std::string RandomBytes(std::size_t count);
std::string Sha256Hex(const std::string& text);
std::string HmacSha256Hex(const std::string& key, const std::string& text);
// In a time that does not tell where they differ.
bool SameSecret(const std::string& a, const std::string& b);

}  // namespace kbench::server::auth
