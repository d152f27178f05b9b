#include "client/hold/local_command.h"

#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "proto/support/process_tree.h"

extern char** environ;

namespace kbench::client {
namespace {

constexpr double kKillSeconds = 5;

// The calling thread's cores while it lives; a child inherits them.
class OnCores {
 public:
  explicit OnCores(const std::vector<int>& cpus) {
    if (cpus.empty() || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
    changed_ = sched_setaffinity(0, sizeof(set), &set) == 0;
  }
  ~OnCores() {
    if (changed_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  cpu_set_t before_{};
  bool changed_ = false;
};

std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (variables.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// As we were started, but for the two signals that main() blocks.
int SpawnWith(const std::vector<std::string>& words, const std::vector<std::string>& environment,
              pid_t* pid) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  sigdelset(&mask, SIGINT);
  sigdelset(&mask, SIGTERM);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawnp(pid, words[0].c_str(), nullptr, &attributes,
                                 Pointers(words).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

bool ProgramExists(const std::string& name) {
  const auto runs = [](const std::string& path) {
    struct stat about {};
    return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name);
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    if (runs((folder.empty() ? "." : folder) + "/" + name)) return true;
  }
  return false;
}

absl::StatusOr<std::unique_ptr<LocalCommand>> LocalCommand::Start(
    const std::vector<std::string>& words, const std::map<std::string, std::string>& variables,
    const std::vector<int>& cpus, std::function<void()> ended) {
  std::vector<pid_t> others = Descendants(getpid());
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t pid = -1;
  int error = 0;
  {
    const OnCores cores(cpus);
    error = SpawnWith(words, EnvironmentWith(variables), &pid);
  }
  if (error != 0) {
    const std::string message = "cannot run " + words[0] + ": " + std::strerror(error);
    return error == ENOENT ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
  }
  return std::unique_ptr<LocalCommand>(new LocalCommand(pid, std::move(others), std::move(ended)));
}

LocalCommand::LocalCommand(pid_t pid, std::vector<pid_t> others, std::function<void()> ended)
    : pid_(pid),
      others_(std::move(others)),
      ended_(std::move(ended)),
      waiter_([this] { Wait(); }) {}

LocalCommand::~LocalCommand() {
  if (code() < 0) Kill();
  waiter_.join();
}

void LocalCommand::Wait() {
  int status = 0;
  siginfo_t info{};
  // Looked at first and reaped under the lock: Signal() must never meet another process's pid.
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  {
    MutexLock lock(mutex_);
    waitpid(pid_, &status, 0);
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  ended_();
}

int LocalCommand::code() const {
  MutexLock lock(mutex_);
  return code_;
}

void LocalCommand::Signal(int signal) {
  MutexLock lock(mutex_);
  if (code_ < 0) kill(pid_, signal);
}

void LocalCommand::Terminate() {
  for (const pid_t pid : Descendants(getpid())) {
    if (std::find(others_.begin(), others_.end(), pid) == others_.end()) kill(pid, SIGTERM);
  }
}

void LocalCommand::Kill() { KillDescendants(getpid(), kKillSeconds, others_); }

}  // namespace kbench::client
