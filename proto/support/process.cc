#include "proto/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <thread>

#include "proto/support/mutex.h"

extern char** environ;

namespace kbench {
namespace {

absl::Status ErrnoError(const std::string& what, int error) {
  return absl::InternalError(what + ": " + std::strerror(error));
}

std::vector<std::string> ChildEnvironment(const ProcessSpec& spec) {
  std::vector<std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool unset =
        std::find(spec.unset_env.begin(), spec.unset_env.end(), name) != spec.unset_env.end();
    if (!unset && spec.env.count(name) == 0) env.push_back(text);
  }
  for (const auto& [name, value] : spec.env) env.push_back(name + "=" + value);
  return env;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Copies of the descriptors above the range that dup2 will write to, so that no copy overwrites
// another's source.
class ParkedDescriptors {
 public:
  explicit ParkedDescriptors(const std::vector<int>& descriptors) {
    const int floor = static_cast<int>(descriptors.size());
    for (const int fd : descriptors) {
      parked_.push_back(fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
                               : fcntl(fd, F_DUPFD_CLOEXEC, floor));
    }
  }
  ~ParkedDescriptors() {
    for (const int fd : parked_) {
      if (fd >= 0) close(fd);
    }
  }
  ParkedDescriptors(const ParkedDescriptors&) = delete;
  ParkedDescriptors& operator=(const ParkedDescriptors&) = delete;
  bool ok() const { return std::find(parked_.begin(), parked_.end(), -1) == parked_.end(); }
  const std::vector<int>& fds() const { return parked_; }

 private:
  std::vector<int> parked_;
};

void SetAttributes(const ProcessSpec& spec, posix_spawnattr_t* attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0);
  const int group = spec.new_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(
      attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
}

absl::StatusOr<Process> SpawnHere(const ProcessSpec& spec) {
  const ParkedDescriptors parked(spec.descriptors);
  if (!parked.ok()) return ErrnoError("cannot duplicate descriptors", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (std::size_t i = 0; i < parked.fds().size(); ++i) {
    posix_spawn_file_actions_adddup2(&actions, parked.fds()[i], static_cast<int>(i));
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, static_cast<int>(spec.descriptors.size()));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SetAttributes(spec, &attributes);

  const std::vector<std::string> env = ChildEnvironment(spec);
  Process process;
  const int error = posix_spawn(&process.pid, spec.argv[0].c_str(), &actions, &attributes,
                                Pointers(spec.argv).data(), Pointers(env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoError("cannot start " + spec.argv[0], error);
  process.pidfd = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
  return process;
}

// The one thread that spawns: a child's parent-death signal is bound to it, so it must live as long
// as the process.
class Spawner {
 public:
  Spawner() : thread_([this] { Run(); }) { thread_.detach(); }

  absl::StatusOr<Process> Spawn(const ProcessSpec& spec) {
    std::promise<absl::StatusOr<Process>> promise;
    {
      MutexLock lock(mutex_);
      tasks_.push_back([&] { promise.set_value(SpawnHere(spec)); });
      wake_.NotifyOne();
    }
    return promise.get_future().get();
  }

 private:
  [[noreturn]] void Run() {
    while (true) {
      std::function<void()> task;
      {
        MutexLock lock(mutex_);
        while (tasks_.empty()) wake_.Wait(mutex_);
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace

absl::StatusOr<Process> Spawn(const ProcessSpec& spec) {
  if (spec.argv.empty()) return absl::InvalidArgumentError("a process needs an argv");
  static auto* spawner = new Spawner;  // never destroyed: its thread runs to the end
  return spawner->Spawn(spec);
}

std::string ExitStatus::ToString() const {
  if (!exited) return "still running";
  if (signal != 0) {
    return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "exit code " + std::to_string(code);
}

ExitStatus WaitProcess(const Process& process, double seconds) {
  ExitStatus status;
  if (process.pid <= 0) {
    status.exited = true;
    return status;
  }
  if (seconds > 0 && process.pidfd >= 0) {
    pollfd entry{process.pidfd, POLLIN, 0};
    poll(&entry, 1, static_cast<int>(seconds * 1000) + 1);
  }
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG) != 0) {
    status.exited = errno == ECHILD;  // reaped earlier
    return status;
  }
  if (info.si_pid == 0) return status;
  status.exited = true;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
    status.code = 128 + info.si_status;
  }
  return status;
}

ExitStatus KillProcessGroup(const Process& process, double grace_seconds) {
  if (process.pid <= 0) return WaitProcess(process, 0);
  ExitStatus status;
  if (grace_seconds > 0) {
    kill(-process.pid, SIGTERM);
    status = WaitProcess(process, grace_seconds);
  }
  // Also when the leader has ended: its children may live on in the group.
  kill(-process.pid, SIGKILL);
  if (!status.exited) {
    kill(process.pid, SIGKILL);
    status = WaitProcess(process, 20);
  }
  return status;
}

void DieWithParent(pid_t expected_parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (expected_parent > 0 && getppid() != expected_parent) _exit(1);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

}  // namespace kbench
