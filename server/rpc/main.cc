// kbench-server: the coordinator. Logs to standard error, ends on SIGTERM or SIGINT after a drain.
#include <malloc.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/logging.h"
#include "proto/support/signals.h"
#include "proto/support/utf8.h"
#include "server/rpc/server.h"
#include "server/rpc/server_options.h"
#include "server/rpc/setup_commands.h"
#include "server/rpc/store_commands.h"
#include "spdlog/spdlog.h"

namespace {

constexpr int kUsage = 2;
constexpr int kFailed = 5;

// Its own lines about a taken port and the like repeat, at length, what we say in one.
void QuietGrpc() { setenv("GRPC_VERBOSITY", "NONE", 0); }

int Run(const kbench::server::ServerOptions& options) {
  QuietGrpc();
  kbench::BlockTerminationSignals();  // before any thread starts
  umask(077);                         // the socket and the data are this user's
  mallopt(M_ARENA_MAX, 2);            // many threads, little work: memory matters more
  auto server = kbench::server::Server::Start(options, kbench::SystemClock());
  if (!server.ok()) {
    fmt::print(stderr, "kbench-server: {}\n", kbench::MessageOf(server.status()));
    return server.status().code() == absl::StatusCode::kInvalidArgument ? kUsage : kFailed;
  }
  spdlog::info("kbench-server {} listens on {}; metrics on {}; data in {}", KBENCH_VERSION,
               fmt::join((*server)->listen(), ", "),
               (*server)->metrics_address().empty() ? "-" : (*server)->metrics_address(),
               options.data_dir);
  kbench::WaitForTerminationSignal();
  (*server)->Shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kbench::QuietProtobuf();
  const absl::Status text = kbench::CheckWords({argv + 1, argv + argc});
  if (!text.ok()) {
    fmt::print(stderr, "kbench-server: {}\n", kbench::MessageOf(text));
    return kUsage;
  }
  if (argc > 1 && kbench::server::IsStoreCommand(argv[1])) {
    return kbench::server::RunStoreCommand(argc, argv);
  }
  if (argc > 1 && kbench::server::IsSetupCommand(argv[1])) {
    return kbench::server::RunSetupCommand(argc, argv);
  }
  kbench::server::ProgramOptions options;
  int exit_code = 0;
  if (!kbench::server::ParseServerOptions(argc, argv, &options, &exit_code)) return exit_code;
  kbench::InitLogging("kbench-server", options.log_level);
  return Run(options.server);
}
