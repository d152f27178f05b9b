#include "client/stack/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "proto/support/process.h"

namespace kbench::client {
namespace {

constexpr int kLockDescriptor = 3;
constexpr off_t kMaxLogBytes = 8 << 20;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status CannotOpen(const std::string& path) {
  return absl::PermissionDeniedError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
}

pid_t ReadPid(int fd) {
  char text[32] = {};
  if (pread(fd, text, sizeof(text) - 1, 0) <= 0) return 0;
  return static_cast<pid_t>(std::strtol(text, nullptr, 10));
}

// The pid file is written just after the daemon was started: another `up` may look in between.
pid_t WaitForPid(int fd) {
  for (int i = 0; i < 100; ++i) {
    if (const pid_t pid = ReadPid(fd); pid > 0) return pid;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

// Whether `pid` runs `program` and holds the very file `lock_fd` refers to.
bool IsOurs(pid_t pid, int lock_fd, const std::string& program) {
  std::error_code error;
  std::string exe = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error).string();
  constexpr char kDeleted[] = " (deleted)";  // rebuilt or upgraded since it started
  if (exe.size() > sizeof(kDeleted) && exe.ends_with(kDeleted)) {
    exe.resize(exe.size() - std::strlen(kDeleted));
  }
  if (error || std::filesystem::path(exe).filename() != program) return false;
  struct stat ours {};
  struct stat theirs {};
  const std::string held = fmt::format("/proc/{}/fd/{}", pid, kLockDescriptor);
  return fstat(lock_fd, &ours) == 0 && stat(held.c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

void RotateLog(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || info.st_size < kMaxLogBytes) return;
  std::error_code error;
  std::filesystem::rename(path, path + ".1", error);
}

}  // namespace

Daemon::~Daemon() {
  if (pidfd_ >= 0) close(pidfd_);
}

Daemon::Daemon(Daemon&& other) noexcept
    : pid_(other.pid_), pidfd_(std::exchange(other.pidfd_, -1)) {}

bool Daemon::Ended(double seconds) const {
  pollfd entry{pidfd_, POLLIN, 0};
  return poll(&entry, 1, static_cast<int>(seconds * 1000)) > 0;
}

bool Daemon::Stop(double grace_seconds) const {
  syscall(SYS_pidfd_send_signal, pidfd_, SIGTERM, nullptr, 0);
  if (Ended(grace_seconds)) return true;
  // It leads its own session and group; while it has not ended, the number is still its own.
  kill(-pid_, SIGKILL);
  syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0);
  return Ended(5);
}

bool Daemon::HasOpen(const std::string& file_name) const {
  std::error_code error;
  const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", pid_), error);
  if (error || Ended()) return false;
  for (auto file = files; file != std::filesystem::directory_iterator(); file.increment(error)) {
    std::error_code closed;  // one closed meanwhile is none
    const auto target = std::filesystem::read_symlink(file->path(), closed);
    if (!closed && target.filename() == file_name) return !Ended();
    if (error) return false;
  }
  return false;
}

absl::StatusOr<std::optional<Daemon>> FindDaemon(const std::string& pid_path,
                                                 const std::string& program) {
  const Fd file(open(pid_path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return CannotOpen(pid_path);
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;  // nobody alive holds it
  const pid_t pid = WaitForPid(file.get());
  const int pidfd = pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (pidfd < 0) {
    // It ended between the two looks.
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;
  } else if (IsOurs(pid, file.get(), program)) {
    return std::make_optional<Daemon>(pid, pidfd);
  } else {
    close(pidfd);
  }
  // One that was killed a moment ago shows neither program nor files while it ends.
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;
  }
  return absl::FailedPreconditionError(fmt::format(
      "{} is locked by a process that is not a {} of ours; end it yourself", pid_path, program));
}

absl::StatusOr<Daemon> StartDaemon(const DaemonSpec& spec) {
  const Fd lock(open(spec.pid_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.get() < 0) return CannotOpen(spec.pid_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::AlreadyExistsError(spec.pid_path + " is held by another process");
  }
  if (ftruncate(lock.get(), 0) != 0) return CannotOpen(spec.pid_path);
  RotateLog(spec.log_path);
  const Fd log(open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (log.get() < 0) return CannotOpen(spec.log_path);

  ProcessSpec process;
  process.argv = spec.argv;
  process.descriptors = {-1, log.get(), log.get(), lock.get()};
  process.new_session = true;
  auto spawned = Spawn(process);
  if (!spawned.ok()) return spawned.status();
  const std::string pid = fmt::format("{}\n", spawned->pid);
  if (pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    KillProcessGroup(*spawned, 1);
    return CannotOpen(spec.pid_path);
  }
  return Daemon(spawned->pid, spawned->pidfd);
}

std::vector<std::string> LastLines(const std::string& path, std::size_t count) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

}  // namespace kbench::client
