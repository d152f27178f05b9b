#include "proto/support/ids.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace kbench {
namespace {

constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr char kJobs[] = "jobs/";

std::vector<std::uint8_t> RandomBytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  std::size_t filled = 0;
  while (filled < count) {
    const ssize_t got = getrandom(bytes.data() + filled, count - filled, 0);
    if (got < 0) std::abort();  // the kernel's source cannot fail with these arguments
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

std::string RandomId(int length) {
  std::string id;
  for (const std::uint8_t byte : RandomBytes(static_cast<std::size_t>(length))) {
    id.push_back(kAlphabet[byte % 32]);
  }
  return id;
}

std::string RandomUuid() {
  std::vector<std::uint8_t> bytes = RandomBytes(16);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text.push_back(kHex[bytes[i] >> 4]);
    text.push_back(kHex[bytes[i] & 15]);
  }
  return text;
}

std::string JobName(const std::string& id_or_name) {
  return id_or_name.rfind(kJobs, 0) == 0 ? id_or_name : kJobs + id_or_name;
}

std::string JobId(const std::string& id_or_name) {
  return id_or_name.rfind(kJobs, 0) == 0 ? id_or_name.substr(sizeof(kJobs) - 1) : id_or_name;
}

}  // namespace kbench
