#include "client/top/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace kbench::client {
namespace {

// What a signal handler needs. Written before `active` is set, and not while it is.
struct Saved {
  int out = -1;
  int keys = -1;
  termios before = {};
  termios drawing = {};
};
Saved saved;                      // NOLINT: handlers have no other way to it
std::atomic<bool> active{false};  // the terminal is not as it was

constexpr std::array kEnding = {SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, kEnding.size() + 2> old_actions;

void WriteAll(int fd, const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t wrote = write(fd, text, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

void Enter() {
  if (saved.keys >= 0) tcsetattr(saved.keys, TCSANOW, &saved.drawing);
  WriteAll(saved.out, kScreenEnter, sizeof(kScreenEnter) - 1);
  active = true;
}

// With the handlers of before, so that the signal does what it does to any program.
void EndBySignal(int number) {
  RestoreTerminal();
  std::signal(number, SIG_DFL);
  raise(number);
}

void StopBySignal(int) {
  const int error = errno;
  RestoreTerminal();
  raise(SIGSTOP);
  errno = error;
}

void Continue(int) {
  const int error = errno;
  if (!active) Enter();
  errno = error;
}

void Handle(int number, void (*handler)(int), struct sigaction* old) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, old);
}

}  // namespace

void RestoreTerminal() {
  if (!active.exchange(false)) return;
  WriteAll(saved.out, kScreenLeave, sizeof(kScreenLeave) - 1);
  if (saved.keys >= 0) tcsetattr(saved.keys, TCSANOW, &saved.before);
}

Terminal::Terminal(int out, int keys) : out_(out) {
  saved = Saved();
  saved.out = out;
  if (keys >= 0 && tcgetattr(keys, &saved.before) == 0) {
    saved.keys = keys;
    saved.drawing = saved.before;
    saved.drawing.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C stays a signal
    saved.drawing.c_cc[VMIN] = 0;
    saved.drawing.c_cc[VTIME] = 0;
  }
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    Handle(kEnding[i], EndBySignal, &old_actions[i]);
  }
  Handle(SIGTSTP, StopBySignal, &old_actions[kEnding.size()]);
  Handle(SIGCONT, Continue, &old_actions[kEnding.size() + 1]);
  Enter();
}

Terminal::~Terminal() {
  for (std::size_t i = 0; i < kEnding.size(); ++i) sigaction(kEnding[i], &old_actions[i], nullptr);
  sigaction(SIGTSTP, &old_actions[kEnding.size()], nullptr);
  sigaction(SIGCONT, &old_actions[kEnding.size() + 1], nullptr);
  RestoreTerminal();
}

ScreenSize Terminal::Size() const {
  winsize size = {};
  if (ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

bool Terminal::Write(const std::string& text) const {
  const char* rest = text.data();
  std::size_t size = text.size();
  while (size > 0) {
    const ssize_t wrote = write(out_, rest, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    rest += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

}  // namespace kbench::client
