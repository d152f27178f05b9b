// kbench-client: the command line of kbench.
#include <fcntl.h>
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
#include "client/output/fd_buffer.h"
#include "client/top/terminal.h"
#include "proto/support/logging.h"
#include "proto/support/signals.h"

namespace {

// A descriptor that the caller closed would be given to the next socket, and the output with it.
// Not open for writing, it fails as a closed one does.
void FillStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) {
      [[maybe_unused]] const int filled = open("/dev/null", O_RDONLY);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kbench;          // NOLINT: main only
  using namespace kbench::client;  // NOLINT: main only

  setenv("GRPC_VERBOSITY", "NONE", 0);  // what its own lines say, ours say better
  QuietProtobuf();
  FillStandardDescriptors();
  BlockTerminationSignals();
  std::signal(SIGPIPE, SIG_DFL);  // `kbench-client list | head` ends quietly
  // Outlives main: the thread below may still hold it.
  auto* interrupt = new Interrupt;
  std::thread([interrupt] {
    while (true) {
      bool typed = true;
      const int signal = WaitForTerminationSignal(&typed);
      if (interrupt->Fire(signal, typed)) continue;
      RestoreTerminal();  // nobody else will
      _exit(kExitInterrupted);
    }
  }).detach();

  FdBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  Io io{out, std::cerr, isatty(STDERR_FILENO) == 1};
  winsize size{};
  if (io.err_is_terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    io.width = size.ws_col;
  }
  if (isatty(STDOUT_FILENO) == 1) io.out_terminal = STDOUT_FILENO;
  if (io.out_terminal >= 0 && isatty(STDIN_FILENO) == 1) io.keys = STDIN_FILENO;
  const char* server = std::getenv("KBENCH_SERVER");
  const int code = RunClient(std::vector<std::string>(argv + 1, argv + argc),
                             server == nullptr ? "" : server, io, *interrupt, Connect);
  return FinishOutput(io, buffer, code);
}
