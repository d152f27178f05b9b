#include "worker/daemon/runner_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/json.h"

namespace kbench {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

bool MakePipe(Pipe* pipe) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  *pipe = {fds[0], fds[1]};
  return true;
}

void CloseFd(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void SetNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// Everything readable now goes to `log`. False at the end of the stream.
bool DrainInto(int fd, CappedLog* log) {
  std::array<char, 16384> buffer;
  while (true) {
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count > 0) {
      log->Append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
}

const char* KindName(v1::RunnerReply::ReplyCase kind) {
  switch (kind) {
    case v1::RunnerReply::kFailure:
      return "failure";
    case v1::RunnerReply::kHello:
      return "hello";
    case v1::RunnerReply::kTuned:
      return "tuned";
    case v1::RunnerReply::kPrepared:
      return "prepared";
    case v1::RunnerReply::kVerified:
      return "verified";
    case v1::RunnerReply::kWarmed:
      return "warmed";
    case v1::RunnerReply::kBurst:
      return "burst";
    case v1::RunnerReply::kFinished:
      return "finished";
    case v1::RunnerReply::kCalibrated:
      return "calibrated";
    case v1::RunnerReply::kCodeCollected:
      return "code_collected";
    case v1::RunnerReply::kLaunchProfiled:
      return "launch_profiled";
    case v1::RunnerReply::kWitnessed:
      return "witnessed";
    case v1::RunnerReply::REPLY_NOT_SET:
      return "nothing";
  }
  return "nothing";
}

// Protobuf's messages hold the line and a marker below it; an outcome is one sentence.
std::string OneLine(std::string text) {
  constexpr std::size_t kMost = 300;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

// The kinds of requests and replies are numbered alike, the replies one further (failure comes
// first).
bool Answers(const v1::RunnerRequest& request, const v1::RunnerReply& reply) {
  return reply.has_failure() ||
         static_cast<int>(reply.reply_case()) == static_cast<int>(request.request_case()) + 1;
}

}  // namespace

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "SIGNAL_" + std::to_string(signal);
}

absl::StatusOr<std::unique_ptr<RunnerProcess>> RunnerProcess::Start(const RunnerSpec& spec) {
  Pipe requests, replies, out, err;
  const bool made = MakePipe(&requests) && MakePipe(&replies) && MakePipe(&out) && MakePipe(&err);
  absl::StatusOr<Process> process = absl::InternalError("cannot make pipes");
  if (made) {
    ProcessSpec child;
    child.argv = {spec.program};
    child.argv.insert(child.argv.end(), spec.args.begin(), spec.args.end());
    child.env = spec.env;
    child.descriptors = {-1, out.write, err.write, requests.read, replies.write};
    process = Spawn(child);
  }
  for (int* fd : {&requests.read, &replies.write, &out.write, &err.write}) CloseFd(fd);
  if (!process.ok()) {
    for (int* fd : {&requests.write, &replies.read, &out.read, &err.read}) CloseFd(fd);
    return process.status();
  }
  for (const int fd : {requests.write, replies.read, out.read, err.read}) SetNonBlocking(fd);
  return std::unique_ptr<RunnerProcess>(
      new RunnerProcess(spec.program, *process, requests.write, replies.read, out.read, err.read));
}

RunnerProcess::RunnerProcess(std::string program, Process process, int request_fd, int reply_fd,
                             int out_fd, int err_fd)
    : program_(std::move(program)),
      process_(process),
      request_fd_(request_fd),
      reply_fd_(reply_fd),
      out_fd_(out_fd),
      err_fd_(err_fd) {}

RunnerProcess::~RunnerProcess() {
  Kill();
  for (int* fd : {&reply_fd_, &out_fd_, &err_fd_, &process_.pidfd}) CloseFd(fd);
}

void RunnerProcess::Kill() {
  CloseFd(&request_fd_);
  if (dead_) return;
  KillProcessGroup(process_, 0);
  dead_ = true;
}

bool RunnerProcess::Ended() const {
  pollfd entry{process_.pidfd, POLLIN, 0};
  return dead_ || poll(&entry, 1, 0) > 0;
}

RunnerError RunnerProcess::Lost(v1::Outcome outcome, std::string reason, std::string message) {
  Kill();
  DrainOutput();
  return {outcome, std::move(reason), std::move(message), 0, true};
}

RunnerError RunnerProcess::Ended(const std::string& phase) {
  // The end of the stream comes before the end of the process.
  const ExitStatus status = WaitProcess(process_, 2);
  // Grandchildren may live on in the group; the leader is reaped if it has ended.
  if (status.exited) {
    kill(-process_.pid, SIGKILL);
    dead_ = true;
    CloseFd(&request_fd_);
    DrainOutput();
  } else {
    return Lost(v1::OUTCOME_CRASHED, "CLOSED_PIPE",
                "the runner closed its pipe during " + phase + " and went on running");
  }
  RunnerError error{v1::OUTCOME_CRASHED, "", "", 0, true};
  if (status.signal != 0) {
    error.reason = SignalName(status.signal);
    error.message = "the runner was ended by " + error.reason + " (" + strsignal(status.signal) +
                    ") during " + phase;
    if (status.signal == SIGKILL) error.message += ", perhaps for want of host memory";
  } else {
    error.reason = "EXITED";
    error.message = "the runner ended with " + status.ToString() + " during " + phase;
  }
  return error;
}

void RunnerProcess::DrainOutput() {
  if (out_fd_ >= 0 && !DrainInto(out_fd_, &out_)) CloseFd(&out_fd_);
  if (err_fd_ >= 0 && !DrainInto(err_fd_, &err_)) CloseFd(&err_fd_);
}

std::string RunnerProcess::TakeOutput() {
  DrainOutput();
  std::string text;
  if (!out_.empty()) text += "--- stdout\n" + out_.Text() + "\n";
  if (!err_.empty()) text += "--- stderr\n" + err_.Text() + "\n";
  out_.Clear();
  err_.Clear();
  return text;
}

std::optional<RunnerError> RunnerProcess::ReadReplies(const std::string& phase) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = read(reply_fd_, buffer.data(), buffer.size());
    if (count > 0) {
      incoming_.append(buffer.data(), static_cast<std::size_t>(count));
      if (incoming_.size() > kMaxFrameBytes && incoming_.find('\n') > kMaxFrameBytes) {
        return Lost(v1::OUTCOME_CRASHED, "FRAME_TOO_LARGE",
                    "the runner sent a frame over 1 MiB during " + phase);
      }
      if (incoming_.find('\n') != std::string::npos) return std::nullopt;
    } else if (count == 0) {
      eof_ = true;
      return std::nullopt;
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
}

// Waits once for anything to happen and moves bytes.
std::optional<RunnerError> RunnerProcess::Pump(std::string* outgoing, double seconds,
                                               const std::string& phase, const CancelToken* cancel,
                                               bool* timed_out) {
  const int cancel_fd = cancel != nullptr ? cancel->fd() : -1;
  const auto writing = static_cast<short>(outgoing->empty() ? 0 : POLLOUT);
  std::array<pollfd, 5> fds = {{{reply_fd_, POLLIN, 0},
                                {outgoing->empty() ? -1 : request_fd_, writing, 0},
                                {out_fd_, POLLIN, 0},
                                {err_fd_, POLLIN, 0},
                                {cancel_fd, POLLIN, 0}}};
  // Rounded up, so that the loop does not spin through the last millisecond.
  const int millis = static_cast<int>(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1000));
  *timed_out = poll(fds.data(), fds.size(), millis) == 0;
  if (cancel != nullptr && cancel->cancelled()) {
    return Lost(v1::OUTCOME_CANCELLED, "CANCELLED", "cancelled during " + phase);
  }
  DrainOutput();
  if ((fds[1].revents & (POLLOUT | POLLERR)) != 0) {
    const ssize_t count = write(request_fd_, outgoing->data(), outgoing->size());
    if (count > 0) outgoing->erase(0, static_cast<std::size_t>(count));
    if (count < 0 && errno == EPIPE) outgoing->clear();  // the end shows on the reply side
  }
  if (fds[0].revents != 0) return ReadReplies(phase);
  return std::nullopt;
}

std::optional<RunnerError> RunnerProcess::Exchange(const std::string& frame, double seconds,
                                                   const std::string& phase,
                                                   const CancelToken* cancel, std::string* line) {
  const double deadline = SystemClock().SteadySeconds() + seconds;
  std::string outgoing = frame + "\n";
  while (true) {
    if (const std::size_t end = incoming_.find('\n'); end != std::string::npos) {
      *line = incoming_.substr(0, end);
      incoming_.erase(0, end + 1);
      return std::nullopt;
    }
    if (eof_) return Ended(phase);
    const double left = deadline - SystemClock().SteadySeconds();
    bool timed_out = false;
    if (auto error = Pump(&outgoing, left, phase, cancel, &timed_out)) return error;
    if (timed_out && SystemClock().SteadySeconds() >= deadline) {
      char text[128];
      std::snprintf(text, sizeof(text), "no answer within %.3g s during %s", seconds,
                    phase.c_str());
      return Lost(v1::OUTCOME_TIMED_OUT, Upper(phase) + "_TIMEOUT", text);
    }
  }
}

Expected<v1::RunnerReply, RunnerError> RunnerProcess::Call(v1::RunnerRequest request,
                                                           double seconds, const std::string& phase,
                                                           const CancelToken* cancel) {
  if (dead_) return RunnerError{v1::OUTCOME_INFRA, "NO_RUNNER", "the runner has ended", 0, true};
  request.set_id(next_id_++);
  const auto frame = ToFrame(request);
  if (!frame.ok()) {
    return RunnerError{v1::OUTCOME_INFRA, "BAD_REQUEST", std::string(frame.status().message()), 0,
                       false};
  }
  std::string line;
  if (auto error = Exchange(*frame, seconds, phase, cancel, &line)) return *std::move(error);

  v1::RunnerReply reply;
  if (absl::Status status = FromFrame(line, &reply); !status.ok()) {
    return Lost(v1::OUTCOME_CRASHED, "BAD_FRAME",
                "during " + phase + " the runner sent " + OneLine(std::string(status.message())));
  }
  if (reply.id() != request.id()) {
    return Lost(v1::OUTCOME_CRASHED, "WRONG_ID",
                "during " + phase + " the runner answered request " + std::to_string(reply.id()) +
                    " instead of " + std::to_string(request.id()));
  }
  if (!Answers(request, reply)) {
    return Lost(v1::OUTCOME_CRASHED, "BAD_FRAME",
                "during " + phase + " the runner answered with " + KindName(reply.reply_case()));
  }
  if (reply.has_failure()) {
    const v1::RunnerFailure& failure = reply.failure();
    RunnerError error{failure.outcome(), failure.reason(), failure.message(),
                      failure.estimate_seconds(), failure.fatal()};
    if (error.outcome == v1::OUTCOME_UNSPECIFIED || error.outcome == v1::OUTCOME_OK) {
      error.outcome = v1::OUTCOME_INFRA;
    }
    if (failure.fatal()) Kill();
    return error;
  }
  return reply;
}

}  // namespace kbench
