#include "worker/daemon/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "proto/support/ids.h"
#include "proto/support/paths.h"
#include "spdlog/spdlog.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".result";
constexpr auto kKeepDamaged = std::chrono::hours(30 * 24);

absl::Status WriteSynced(const std::string& path, const std::string& bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return absl::InternalError("cannot write " + path + ": " + std::strerror(errno));
  std::size_t done = 0;
  bool good = true;
  while (good && done < bytes.size()) {
    const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count > 0) done += static_cast<std::size_t>(count);
    good = count > 0 || errno == EINTR;
  }
  good = good && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (good) return absl::OkStatus();
  return absl::InternalError("cannot write " + path + ": " + std::strerror(error));
}

void SyncDir(const std::string& dir) {
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

bool ReadResult(const fs::path& path, v1::AttemptResult* result) {
  std::ifstream file(path, std::ios::binary);
  return file && result->ParseFromIstream(&file) && result->has_id();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const std::string& dir,
                                                   std::int64_t most_bytes) {
  if (absl::Status status = EnsureWritableDir(dir); !status.ok()) return status;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    // What was set aside as damaged is for a person, for a while.
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(error);
    const bool old = entry.path().extension() == ".damaged" && age > kKeepDamaged;
    if (entry.path().extension() == ".tmp" || old) fs::remove(entry.path(), error);
  }
  return std::unique_ptr<Spool>(new Spool(dir, most_bytes));
}

std::string Spool::PathOf(const v1::AttemptId& id) const {
  // The name of a job is ours ("jobs/k3f9x2ab"), but it comes over the wire: keep it inside the
  // folder.
  std::string job = JobId(id.job());
  std::replace_if(
      job.begin(), job.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return dir_ + "/" + job + "-" + std::to_string(id.case_index()) + "-" +
         std::to_string(id.attempt()) + "-" + std::to_string(id.epoch()) + kSuffix;
}

std::int64_t Spool::Bytes() const {
  std::int64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir_, error)) {
    const auto size = entry.file_size(error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

absl::Status Spool::Put(const v1::AttemptResult& result) {
  MutexLock lock(mutex_);
  const std::string path = PathOf(result.id());
  const std::string temporary = path + ".tmp";
  std::string bytes = result.SerializeAsString();
  if (Bytes() + static_cast<std::int64_t>(bytes.size()) > most_bytes_) {
    v1::AttemptResult bare = result;
    bare.clear_artifacts();
    for (auto& one : *bare.mutable_results()) one.clear_artifacts();
    bytes = bare.SerializeAsString();
    spdlog::warn("the spool {} is full: the result of {} is kept without its artifacts", dir_,
                 result.id().job());
  }
  if (absl::Status status = WriteSynced(temporary, bytes); !status.ok()) return status;
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return absl::InternalError("cannot rename " + temporary + ": " + std::strerror(errno));
  }
  SyncDir(dir_);
  return absl::OkStatus();
}

std::vector<v1::AttemptResult> Spool::List() const {
  MutexLock lock(mutex_);
  std::vector<v1::AttemptResult> results;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir_, error)) {
    if (entry.path().extension() != kSuffix) continue;
    v1::AttemptResult result;
    if (ReadResult(entry.path(), &result)) {
      results.push_back(std::move(result));
    } else {
      spdlog::warn("{} cannot be read and is set aside as .damaged", entry.path().string());
      fs::rename(entry.path(), entry.path().string() + ".damaged", error);
    }
  }
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.id().epoch() < b.id().epoch(); });
  return results;
}

absl::StatusOr<v1::AttemptResult> Spool::Load(const v1::AttemptId& id) const {
  MutexLock lock(mutex_);
  v1::AttemptResult result;
  if (ReadResult(PathOf(id), &result)) return result;
  return absl::NotFoundError("no result of this attempt is spooled");
}

void Spool::Remove(const v1::AttemptId& id) {
  MutexLock lock(mutex_);
  std::error_code ignored;
  fs::remove(PathOf(id), ignored);
}

}  // namespace kbench
