#include "worker/runner/runner_main.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "proto/support/json.h"
#include "proto/support/process.h"
#include "worker/runner/failure.h"
#include "worker/runner/options.h"

namespace kbench {
namespace {

constexpr int kRequestFd = 3;
constexpr int kReplyFd = 4;
constexpr int kExitUsage = 2;
constexpr char kPinned[] = "KBENCH_RUNNER_PINNED";
constexpr std::size_t kMostMessage = 300;

int Complain(const std::string& message) {
  std::fprintf(stderr, "kbench-runner: %s\n", message.c_str());
  return kExitUsage;
}

int AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

bool Pin(const std::vector<int>& cpus) {
  if (cpus.empty()) return true;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

// The BLAS and OpenMP libraries start their threads, with the number and the affinity they find,
// while they are loaded: before main(). So the process pins itself and starts anew, once.
int StartPinned(const RunnerOptions& options, char** argv) {
  if (!Pin(options.cpus)) {
    return Complain(std::string("cannot run on the CPUs of --cpus: ") + std::strerror(errno));
  }
  const int threads = options.threads > 0 ? options.threads : AllowedCpus();
  const std::string count = std::to_string(threads);
  setenv("OMP_NUM_THREADS", count.c_str(), 1);
  setenv("OPENBLAS_NUM_THREADS", count.c_str(), 1);
  // Long enough for the next sample of a burst, short enough that no thread of ours spins into the
  // burst of another runner, or OpenMP's into a call of OpenBLAS: the defaults are tens of
  // milliseconds.
  setenv("GOMP_SPINCOUNT", "30000", 1);
  setenv("OPENBLAS_THREAD_TIMEOUT", "22", 1);  // 2^22 cycles
  setenv(kPinned, std::to_string(getpid()).c_str(), 1);
  execv("/proc/self/exe", argv);
  return Complain(std::string("cannot start itself anew: ") + std::strerror(errno));
}

bool IsPinned() {
  const char* pinned = std::getenv(kPinned);
  return pinned != nullptr && pinned == std::to_string(getpid());
}

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

// Nothing an implementation prints may end up among the frames.
int MoveStdoutAside() {
  const int replies = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (replies >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  return replies;
}

absl::Status WriteReply(FrameWriter& writer, v1::RunnerReply reply) {
  absl::Status status = writer.Write(reply);
  if (status.ok() || absl::IsUnavailable(status)) return status;
  // The reply makes no frame (a number that is not finite, or too long): that is said instead.
  SetFailure(v1::OUTCOME_INFRA, "BAD_REPLY", std::string(status.message()),
             reply.mutable_failure());
  return writer.Write(reply);
}

v1::RunnerReply Answer(Session& session, const std::string& line) {
  v1::RunnerRequest request;
  if (absl::Status status = FromFrame(line, &request); !status.ok()) {
    std::string message(status.message());
    std::replace(message.begin(), message.end(), '\n', ' ');
    return BadFrame(message.substr(0, kMostMessage));
  }
  return session.Handle(request);
}

}  // namespace

int Serve(Session& session, FrameReader& reader, FrameWriter& writer) {
  while (true) {
    absl::StatusOr<std::optional<std::string>> line = reader.Next();
    v1::RunnerReply reply;
    if (!line.ok()) {
      if (!absl::IsResourceExhausted(line.status())) return 1;
      reply = BadFrame(std::string(line.status().message()));
    } else if (!line->has_value()) {
      return 0;
    } else {
      reply = Answer(session, **line);
    }
    if (!WriteReply(writer, std::move(reply)).ok()) return 1;
    if (session.fatal()) return kExitFatal;
  }
}

int RunnerMain(int argc, char** argv, const std::function<RunnerIdentity(int threads)>& identify) {
  const auto options = ParseRunnerOptions({argv + 1, argv + argc});
  if (!options.ok()) return Complain(std::string(options.status().message()));
  DieWithParent(options->parent);
  if (!IsPinned()) return StartPinned(*options, argv);
  std::signal(SIGPIPE, SIG_IGN);
  if (!options->stdio && (!IsOpen(kRequestFd) || !IsOpen(kReplyFd))) {
    return Complain(
        "frames are read from descriptor 3 and written to descriptor 4, which are not open; run it "
        "by hand with --stdio");
  }
  const int out = options->stdio ? MoveStdoutAside() : kReplyFd;
  if (out < 0) return Complain(std::string("standard output: ") + std::strerror(errno));
  FrameReader reader(options->stdio ? STDIN_FILENO : kRequestFd);
  FrameWriter writer(out);
  const int threads = options->threads > 0 ? options->threads : AllowedCpus();
  Session session(identify(threads));
  const int code = Serve(session, reader, writer);
  // A poisoned context makes every destructor a gamble.
  if (code == kExitFatal) std::_Exit(code);
  return code;
}

}  // namespace kbench
