#include "worker/daemon/folder_cap.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "spdlog/spdlog.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;

struct Unit {
  fs::path path;
  fs::file_time_type used;
  std::int64_t bytes = 0;
};

void Count(const fs::directory_entry& file, Unit& unit) {
  std::error_code error;
  if (!file.is_regular_file(error) || file.is_symlink(error)) return;
  const auto size = file.file_size(error);
  if (!error) unit.bytes += static_cast<std::int64_t>(size);
  const auto time = file.last_write_time(error);
  if (!error) unit.used = std::max(unit.used, time);
}

Unit Measure(const fs::directory_entry& entry) {
  Unit unit{entry.path(), fs::file_time_type::min(), 0};
  std::error_code error;
  Count(entry, unit);
  if (!entry.is_directory(error) || entry.is_symlink(error)) return unit;
  for (fs::recursive_directory_iterator it(entry.path(), error), end; it != end;
       it.increment(error)) {
    Count(*it, unit);
  }
  return unit;
}

}  // namespace

std::int64_t BytesIn(const std::string& path) {
  std::error_code error;
  return Measure(fs::directory_entry(path, error)).bytes;
}

std::int64_t CapFolder(const std::string& dir, std::int64_t most_bytes) {
  std::error_code error;
  std::vector<Unit> units;
  std::int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    units.push_back(Measure(entry));
    bytes += units.back().bytes;
  }
  std::sort(units.begin(), units.end(),
            [](const Unit& a, const Unit& b) { return a.used < b.used; });
  for (const Unit& unit : units) {
    if (bytes <= most_bytes) break;
    fs::remove_all(unit.path, error);
    if (error) continue;
    bytes -= unit.bytes;
    spdlog::info("{} is dropped: its folder held too much", unit.path.string());
  }
  return bytes;
}

}  // namespace kbench
