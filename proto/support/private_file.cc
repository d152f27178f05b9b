#include "proto/support/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "proto/support/error.h"

namespace kbench {
namespace {

absl::Status CannotWrite(const std::string& path) {
  return MakeError(absl::StatusCode::kPermissionDenied,
                   path + " cannot be written: " + std::strerror(errno),
                   {.reason = "FILE_NOT_WRITABLE", .metadata = {{"path", path}}});
}

std::string ParentOf(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Root alone can give a file away, and needs to.
void GiveToOwnerOfFolder(int fd, const std::string& folder) {
  struct stat info {};
  if (geteuid() != 0 || stat(folder.c_str(), &info) != 0 || info.st_uid == 0) return;
  [[maybe_unused]] const int ignored = fchown(fd, info.st_uid, info.st_gid);
}

bool WriteAll(int fd, const std::string& content) {
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t n = write(fd, content.data() + written, content.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return fsync(fd) == 0;
}

}  // namespace

absl::Status WritePrivateFile(const std::string& path, const std::string& content) {
  std::string scratch = path + ".XXXXXX";
  const int fd = mkostemp(scratch.data(), O_CLOEXEC);  // mode 0600
  if (fd < 0) return CannotWrite(path);
  GiveToOwnerOfFolder(fd, ParentOf(path));
  const bool written = WriteAll(fd, content);
  const int error = errno;
  close(fd);
  if (written && std::rename(scratch.c_str(), path.c_str()) == 0) return absl::OkStatus();
  if (!written) errno = error;
  absl::Status status = CannotWrite(path);
  unlink(scratch.c_str());
  return status;
}

absl::Status MakePrivateDir(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  std::filesystem::create_directories(ParentOf(path), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return CannotWrite(path);
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return CannotWrite(path);
  GiveToOwnerOfFolder(fd, ParentOf(path));
  close(fd);
  return absl::OkStatus();
}

}  // namespace kbench
