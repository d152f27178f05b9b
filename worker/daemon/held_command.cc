#include "worker/daemon/held_command.h"

#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "proto/support/cpu_list.h"
#include "proto/support/process_tree.h"

extern char** environ;

namespace kbench {
namespace {

constexpr char kAllCpus[] = "-";
constexpr double kKillSeconds = 5;
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

sigset_t OurSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGCHLD, SIGUSR1}) sigaddset(&set, signal);
  return set;
}

bool PinTo(const std::string& list) {
  const auto cpus = ParseCpuList(list);
  if (!cpus.ok()) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : *cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

int Complain(const std::string& what, int error) {
  std::fprintf(stderr, "kbench-worker: %s: %s\n", what.c_str(), std::strerror(error));
  return error == ENOENT ? kNotFound : kNotStarted;
}

int Start(const std::vector<std::string>& command, pid_t* pid) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(pid, words[0], nullptr, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// Reaps whoever has ended. True when the command was among them.
bool Reap(pid_t command, int* code) {
  bool ended = false;
  int status = 0;
  for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
    if (pid != command) continue;
    ended = true;
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return ended;
}

int Serve(pid_t command, pid_t worker) {
  const sigset_t ours = OurSignals();
  int code = 0;
  while (!Reap(command, &code)) {
    int signal = 0;
    if (sigwait(&ours, &signal) != 0) continue;
    const bool orphaned = getppid() != worker;
    if (signal == SIGUSR1 || orphaned) {
      KillDescendants(getpid(), kKillSeconds);
    } else if (signal == SIGTERM) {
      for (const pid_t pid : Descendants(getpid())) kill(pid, SIGTERM);
    }
  }
  KillDescendants(getpid(), kKillSeconds);
  int unused = 0;
  Reap(command, &unused);
  return code;
}

}  // namespace

int RunHeldCommand(const std::vector<std::string>& arguments) {
  constexpr std::size_t kFirstWord = 4;
  if (arguments.size() <= kFirstWord) return kNotStarted;
  const auto worker = static_cast<pid_t>(std::atoi(arguments[1].c_str()));
  const sigset_t ours = OurSignals();
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (getppid() != worker) return kNotStarted;  // it died before the lines above
  if (chdir(arguments[2].c_str()) != 0) return Complain("cannot enter " + arguments[2], EACCES);
  if (arguments[3] != kAllCpus && !PinTo(arguments[3])) {
    return Complain("cannot run on the cores " + arguments[3], EINVAL);
  }
  pid_t command = -1;
  const std::vector<std::string> words(arguments.begin() + kFirstWord, arguments.end());
  if (const int error = Start(words, &command); error != 0) {
    return Complain("cannot start " + words[0], error);
  }
  return Serve(command, worker);
}

ProcessSpec HeldCommandSpec(const std::string& program, const v1::Hold& hold,
                            const std::string& job_id, const std::string& device_name,
                            const DeviceFacts& facts, const std::string& folder, int out, int err) {
  ProcessSpec spec;
  const std::string cpus = facts.cpus.empty() ? kAllCpus : FormatCpuList(facts.cpus);
  spec.argv = {program, kHeldCommandFlag, std::to_string(getpid()), folder, cpus};
  spec.argv.insert(spec.argv.end(), hold.command().begin(), hold.command().end());
  spec.descriptors = {-1, out, err};
  spec.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  for (const char* kept : {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ"}) {
    if (const char* value = std::getenv(kept)) spec.env[kept] = value;
  }
  spec.env["TMPDIR"] = folder;
  spec.env.insert(hold.environment().begin(), hold.environment().end());
  for (const auto& [name, value] : hold.environment()) spec.env[name] = value;
  for (const auto& [name, value] : facts.runner_env) spec.env[name] = value;
  if (facts.device.kind() != "cuda") {
    spec.env["CUDA_VISIBLE_DEVICES"] = "";
    const auto cores = facts.device.settings().find("cpus");
    spec.env["KBENCH_CPUS"] = cores != facts.device.settings().end() ? cores->second : cpus;
  }
  spec.env["KBENCH_JOB"] = job_id;
  spec.env["KBENCH_DEVICE"] = device_name;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    spec.unset_env.push_back(text.substr(0, text.find('=')));
  }
  return spec;
}

}  // namespace kbench
