#include "proto/support/signals.h"

#include <cerrno>
#include <csignal>
#include <ctime>

namespace kbench {
namespace {

sigset_t TerminationSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void BlockTerminationSignals() {
  const sigset_t set = TerminationSet();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int WaitForTerminationSignal(bool* typed) {
  const sigset_t set = TerminationSet();
  siginfo_t info{};
  int number = 0;
  do {
    number = sigwaitinfo(&set, &info);
  } while (number <= 0);
  if (typed != nullptr) *typed = info.si_code == SI_KERNEL;
  return number;
}

int PollTerminationSignal(double seconds) {
  const sigset_t set = TerminationSet();
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(seconds);
  timeout.tv_nsec = static_cast<long>((seconds - static_cast<double>(timeout.tv_sec)) * 1e9);
  const int number = sigtimedwait(&set, nullptr, &timeout);
  return number > 0 ? number : 0;
}

}  // namespace kbench
