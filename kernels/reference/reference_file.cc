#include "kernels/reference/reference_file.h"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

namespace kbench::reference {
namespace {

// The number is the version of the format and of what the numbers mean: a change of either needs
// a new one.
constexpr char kMagic[8] = {'K', 'B', 'R', 'E', 'F', '0', '0', '1'};

struct Header {
  char magic[8];
  std::uint64_t key_bytes;
  std::uint64_t count;
  std::uint64_t digest;  // of key and numbers
};

std::uint64_t Mix(std::uint64_t hash, std::uint64_t word) {
  return (std::rotl(hash, 29) ^ word) * 0x9E3779B97F4A7C15u;
}

std::uint64_t DigestOf(const std::string& key) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : key) hash = Mix(hash, static_cast<unsigned char>(c));
  return hash;
}

std::uint64_t DigestOf(const std::string& key, const std::vector<double>& values) {
  std::uint64_t hash = DigestOf(key);
  for (double value : values) hash = Mix(hash, std::bit_cast<std::uint64_t>(value));
  return hash;
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

}  // namespace

std::string ReferencePath(const std::string& dir, const std::string& name, const std::string& key) {
  char digest[17];
  std::snprintf(digest, sizeof(digest), "%016llx", static_cast<unsigned long long>(DigestOf(key)));
  return dir + "/" + name + "-" + digest + ".ref";
}

bool LoadReference(const std::string& path, const std::string& key, std::size_t count,
                   std::vector<double>* values) {
  const File file(std::fopen(path.c_str(), "rb"));
  Header header;
  if (!file || std::fread(&header, sizeof(header), 1, file.get()) != 1) return false;
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.key_bytes != key.size() ||
      header.count != count) {
    return false;
  }
  std::string found(key.size(), '\0');
  if (std::fread(found.data(), 1, found.size(), file.get()) != found.size() || found != key) {
    return false;
  }
  values->resize(count);
  if (std::fread(values->data(), sizeof(double), count, file.get()) != count) return false;
  return std::fgetc(file.get()) == EOF && header.digest == DigestOf(key, *values);
}

bool SaveReference(const std::string& path, const std::string& key,
                   const std::vector<double>& values) {
  static std::atomic<unsigned> number{0};
  const std::string temporary =
      path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(number++);
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) return false;
  Header header = {{}, key.size(), values.size(), DigestOf(key, values)};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  bool good =
      std::fwrite(&header, sizeof(header), 1, file.get()) == 1 &&
      std::fwrite(key.data(), 1, key.size(), file.get()) == key.size() &&
      std::fwrite(values.data(), sizeof(double), values.size(), file.get()) == values.size();
  // Closing writes the rest: a full disk shows here.
  good = std::fclose(file.release()) == 0 && good;
  good = good && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (!good) std::remove(temporary.c_str());
  return good;
}

}  // namespace kbench::reference
