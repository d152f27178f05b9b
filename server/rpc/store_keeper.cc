#include "server/rpc/store_keeper.h"

#include <cctype>
#include <ctime>
#include <filesystem>
#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "spdlog/spdlog.h"

namespace kbench::server {
namespace {

namespace fs = std::filesystem;

// A folder's name, not a path: the coordinator writes nowhere else.
absl::Status CheckName(const std::string& name) {
  bool plain = !name.empty() && name.size() <= 64 && name.front() != '.';
  for (const char c : name) {
    plain = plain &&
            (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.');
  }
  if (plain) return absl::OkStatus();
  ErrorDetails details{.reason = "BAD_BACKUP_NAME"};
  details.violations.push_back(
      {"name", "1 to 64 letters, digits, '-', '_' and '.', not beginning with '.'"});
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "a backup's name is a plain folder name: 1 to 64 letters, digits, '-', '_' and "
                   "'.', not beginning with '.'",
                   details);
}

std::string TimeName(std::int64_t micros) {
  const std::time_t seconds = micros / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}-{:03}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros / 1000 % 1000);
}

// The bytes of all files in the folder, and when the newest backup was made.
std::int64_t BytesIn(const std::string& dir) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(dir, error)) {
    if (!entry.is_regular_file(error)) continue;
    const auto size = entry.file_size(error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::int64_t NewestIn(const std::string& dir) {
  std::int64_t newest = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const auto time = fs::last_write_time(entry.path() / "kbench.db", error);
    if (error || entry.path().extension() == ".partial") continue;
    const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
    newest = std::max<std::int64_t>(
        newest, std::chrono::duration_cast<std::chrono::microseconds>(since).count());
  }
  return newest;
}

}  // namespace

StoreKeeper::StoreKeeper(store::Store& store, metrics::Metrics& metrics, Clock& clock,
                         KeeperOptions options)
    : upkeep_(store.upkeep()),
      metrics_(metrics),
      clock_(clock),
      options_(std::move(options)),
      last_backup_micros_(NewestIn(options_.backup_dir)) {}

void StoreKeeper::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void StoreKeeper::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

bool StoreKeeper::Pause(double seconds) {
  const double end = clock_.SteadySeconds() + seconds;
  MutexLock lock(mutex_);
  for (;;) {
    const double left = end - clock_.SteadySeconds();
    if (stop_) return false;
    if (left <= 0) return true;
    wake_.WaitFor(mutex_, left);
  }
}

void StoreKeeper::Loop() {
  for (const store::Kind kind : store::kKinds) {
    metrics_.StoreMayKeep(store::KindName(kind), options_.retention.Of(kind).bytes);
  }
  // The gauges need no round: a young coordinator shows what its store holds.
  if (const auto bytes = CountBytes(); bytes.ok()) metrics_.StoreKeeps(*bytes);
  for (double wait = options_.first_seconds; Pause(wait); wait = options_.round_seconds) Round();
}

absl::StatusOr<std::map<std::string, std::int64_t>> StoreKeeper::CountBytes() {
  KB_ASSIGN_OR_RETURN(auto bytes, upkeep_.Bytes());
  bytes["backups"] = BytesIn(options_.backup_dir);
  return bytes;
}

void StoreKeeper::Round() {
  absl::StatusOr<std::map<std::string, std::int64_t>> bytes = CountBytes();
  absl::Status status = bytes.status();
  int steps = 0;
  while (status.ok()) {
    metrics_.StoreKeeps(*bytes);
    const double now = static_cast<double>(clock_.WallMicros()) * 1e-6;
    const absl::StatusOr<bool> more = upkeep_.Prune(options_.retention, now, *bytes);
    status = more.status();
    if (!more.ok() || !*more) break;
    ++steps;
    if (!Pause(options_.pause_seconds)) return;
  }
  if (!status.ok()) spdlog::warn("retention stopped: {}", MessageOf(status));
  if (steps == 0) return;
  spdlog::info("retention dropped what was too old or too much, in {} steps", steps);
  if (auto after = CountBytes(); after.ok()) metrics_.StoreKeeps(*after);
}

absl::StatusOr<kbench::v1::BackupResponse> StoreKeeper::Backup(
    const kbench::v1::BackupRequest& request) {
  const std::int64_t now = clock_.WallMicros();
  const std::string name = request.name().empty() ? TimeName(now) : request.name();
  KB_RETURN_IF_ERROR(CheckName(name));
  KB_RETURN_IF_ERROR(EnsureWritableDir(options_.backup_dir));
  MutexLock lock(backup_mutex_);
  kbench::v1::BackupResponse response;
  response.set_path(options_.backup_dir + "/" + name);
  KB_ASSIGN_OR_RETURN(const std::int64_t size, upkeep_.Backup(response.path()));
  response.set_size_bytes(size);
  last_backup_micros_ = now;
  spdlog::info("backed up to {} ({} bytes)", response.path(), size);
  return response;
}

absl::StatusOr<kbench::v1::StoreInfo> StoreKeeper::Info(
    const kbench::v1::GetStoreRequest& request) {
  kbench::v1::StoreInfo info;
  KB_ASSIGN_OR_RETURN(const auto bytes, CountBytes());
  info.mutable_bytes()->insert(bytes.begin(), bytes.end());
  if (request.check()) {
    KB_ASSIGN_OR_RETURN(const auto problems, upkeep_.Check());
    info.set_checked(true);
    info.set_problem(fmt::format("{}", fmt::join(problems, "; ")));
  }
  MutexLock lock(backup_mutex_);
  if (last_backup_micros_ > 0) *info.mutable_last_backup_time() = ToTimestamp(last_backup_micros_);
  return info;
}

}  // namespace kbench::server
