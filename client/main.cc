// kbench-client: the command line of kbench.
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "client/app.h"
#include "client/exit_code.h"
#include "proto/support/signals.h"

int main(int argc, char** argv) {
  using namespace kbench;          // NOLINT: main only
  using namespace kbench::client;  // NOLINT: main only

  BlockTerminationSignals();
  std::signal(SIGPIPE, SIG_DFL);  // `kbench-client list | head` ends quietly
  // Outlives main: the thread below may still hold it.
  auto* interrupt = new Interrupt;
  std::thread([interrupt] {
    while (true) {
      WaitForTerminationSignal();
      if (!interrupt->Fire()) _exit(kExitInterrupted);
    }
  }).detach();

  Io io{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  winsize size{};
  if (io.err_is_terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    io.width = size.ws_col;
  }
  const char* server = std::getenv("KBENCH_SERVER");
  const int code = RunClient(std::vector<std::string>(argv + 1, argv + argc),
                             server == nullptr ? "" : server, io, *interrupt, Connect);
  std::cout.flush();
  return code;
}
