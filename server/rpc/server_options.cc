#include "server/rpc/server_options.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "proto/support/config_flags.h"
#include "proto/support/error.h"
#include "proto/support/logging.h"
#include "proto/support/paths.h"
#include "server/auth/setup.h"
#include "server/rpc/limit_options.h"
#include "server/rpc/retention_options.h"

namespace kbench::server {
namespace {

constexpr int kUsage = 2;
constexpr std::int64_t kLogBytes = 40 << 20;  // as long as it gets: see store/checkpointer.h
constexpr char kFooter[] =
    "Commands: init, renew, invite OWNER, tokens list, tokens revoke ID, backup DIR, restore DIR,\n"
    "check (each with --help).\n"
    "Exit codes: 0 stopped by a signal, 2 wrong usage, 5 it cannot start.";

void DeclareServing(CLI::App& app, ProgramOptions& options) {
  ServerOptions& server = options.server;
  app.add_option("--listen", server.listen,
                 "Address, may be repeated: unix:PATH or HOST:PORT, beyond loopback with TLS only "
                 "(default: unix:" +
                     DefaultSocketPath() + ")");
  app.add_option("--metrics-listen", server.metrics_listen,
                 "HOST:PORT of /metrics; port 0 picks a free one, \"\" exports none")
      ->take_last()
      ->capture_default_str();
  const auto series = [&](const char* name, std::size_t* most, const char* what) {
    app.add_option(name, *most, what)
        ->take_last()
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
        ->capture_default_str();
  };
  series("--ad-hoc-series", &server.series.most_ad_hoc,
         "Cells in the metrics that nobody has pinned or scheduled: the newest");
  series("--pinned-series", &server.series.most_kept, "Pinned and scheduled cells in the metrics");
  app.add_option("--data-dir", server.data_dir, "Where jobs and results are kept")
      ->take_last()
      ->capture_default_str();
  AddRetentionOptions(app, &server.retention);
  AddLimitOptions(app, &server.coordinator);
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn or error")
      ->take_last()
      ->check(OneOf(LogLevels()))
      ->capture_default_str();
}

void DeclareHolds(CLI::App& app, CoordinatorOptions& coordinator) {
  app.add_option("--max-hold", coordinator.max_hold_seconds,
                 "The longest time for which `with` and `hold` may take a device: 90s, 30m, 2h "
                 "(default: 2h)")
      ->take_last()
      ->transform(DurationBetween(1, 7 * 24 * 3600));
  app.add_option("--hold-lapse", coordinator.hold_lapse_seconds,
                 "How long a client that holds a device may be silent before it is taken back "
                 "(default: 60s)")
      ->take_last()
      ->transform(DurationBetween(1, 3600));
}

void DeclareRole(CLI::App& app, const std::string& name, auth::Role* role,
                 const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, role](const std::string& text) {
           const auto parsed = auth::ParseRole(text, true);
           if (!parsed.ok()) throw CLI::ValidationError(name, MessageOf(parsed.status()));
           *role = *parsed;
         },
         help)
      ->take_last()
      ->option_text("ROLE [" + auth::RoleName(*role) + "]");
}

void DeclareAccess(CLI::App& app, auth::AuthOptions& access) {
  app.add_option("--tls-certificate", access.tls_certificate,
                 "PEM file: TLS for every HOST:PORT; read again when it changes")
      ->take_last();
  app.add_option("--tls-key", access.tls_key, "PEM file (default: in the file of the certificate)")
      ->take_last();
  app.add_option("--tls-client-ca", access.tls_client_ca,
                 "PEM file: whose client certificates are taken (default: none)")
      ->take_last();
  app.add_option("--tokens", access.tokens, "Whom `invite` has let in; read again when it changes")
      ->take_last()
      ->capture_default_str();
  app.add_flag("--share-socket", access.share_socket,
               "Every user of this machine may connect to the Unix sockets, as who they are");
  DeclareRole(app, "--local-role", &access.local_role,
              "What those users may; this server's own user and root are admins");
  DeclareRole(app, "--anonymous-role", &access.anonymous_role,
              "What callers over TCP without TLS may, who are whoever they say");
  app.add_flag("--insecure", access.insecure,
               "Listen beyond loopback without TLS: everybody on the way reads and forges");
  app.add_option("--audit-log", access.audit_log,
                 "Who changed what, and what was refused (default: audit.log in the data folder)")
      ->take_last();
  app.add_option("--audit-bytes", access.audit_bytes,
                 "The size of one file of it; three older ones are kept")
      ->take_last()
      ->check(WholeBetween(4096, std::int64_t{1} << 40))
      ->capture_default_str();
}

absl::Status Wrong(const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message, {.reason = "BAD_OPTION"});
}

}  // namespace

absl::StatusOr<std::string> ReadServerOptions(int argc, const char* const* argv,
                                              ProgramOptions* options) {
  const std::string dir = auth::ServerConfigDir();
  options->server.data_dir = DataDir();
  options->server.log_bytes = kLogBytes;
  options->server.access.tokens = dir + "/tokens";
  CLI::App app("The coordinator of kbench: queue, store, results and metrics.", "kbench-server");
  app.footer(kFooter);
  const ConfigRules rules{.program = "kbench-server",
                          .version = KBENCH_VERSION,
                          .default_path = auth::SetupPaths{dir}.config(),
                          .about = "The configuration, read where it exists"};
  ProgramOptions trial = *options;
  const auto declare_on = [](ProgramOptions& on) {
    return [&on](CLI::App& to) {
      DeclareServing(to, on);
      DeclareHolds(to, on.server.coordinator);
      DeclareAccess(to, on.server.access);
    };
  };
  std::string config;
  const absl::StatusOr<std::string> answer =
      ParseWithConfig(app, rules, declare_on(*options), declare_on(trial), argc, argv, &config);
  if (!answer.ok()) return Wrong(MessageOf(answer.status()));
  if (!answer->empty()) return answer;
  const std::string wrong = CheckLimitOptions(&options->server.coordinator);
  if (!wrong.empty()) return Wrong(wrong + "; see kbench-server --help");
  return "";
}

bool ParseServerOptions(int argc, const char* const* argv, ProgramOptions* options,
                        int* exit_code) {
  const absl::StatusOr<std::string> answer = ReadServerOptions(argc, argv, options);
  if (!answer.ok()) {
    fmt::print(stderr, "kbench-server: {}\n", MessageOf(answer.status()));
    *exit_code = kUsage;
    return false;
  }
  if (answer->empty()) return true;
  fmt::print("{}", *answer);
  *exit_code = 0;
  return false;
}

}  // namespace kbench::server
