// A verb of the client. One file each in client/commands; owned by the App, used from one thread.
// Everything a verb needs comes through the Context, so that tests run it against a fake service.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/arguments.h"
#include "client/backend.h"
#include "client/interrupt.h"
#include "client/io.h"

namespace kbench::client {

struct Context {
  Io& io;
  Interrupt& interrupt;
  std::string address;  // as given, empty: the local stack's socket
  std::function<absl::StatusOr<Backend>(const std::string& address)> connect;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  // One line for `kbench-client --help`.
  virtual std::string help() const = 0;
  // Declares arguments and options; they are stored in the command when the line is parsed.
  virtual void Declare(Arguments& arguments) = 0;
  // The exit code.
  virtual int Run(Context& context) = 0;
};

// Every verb, in the order of the help.
std::vector<std::unique_ptr<Command>> AllCommands();

}  // namespace kbench::client
