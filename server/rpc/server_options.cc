#include "server/rpc/server_options.h"

#include <cstdio>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "server/auth/setup.h"
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
  app.add_option("--data-dir", server.data_dir, "Where jobs and results are kept")
      ->take_last()
      ->capture_default_str();
  AddRetentionOptions(app, &server.retention);
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn or error")
      ->take_last()
      ->capture_default_str();
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
      ->check(CLI::Range(std::int64_t{4096}, std::int64_t{1} << 40))
      ->capture_default_str();
}

}  // namespace

bool ParseServerOptions(int argc, const char* const* argv, ProgramOptions* options,
                        int* exit_code) {
  const std::string dir = auth::ServerConfigDir();
  options->server.data_dir = DataDir();
  options->server.log_bytes = kLogBytes;
  options->server.access.tokens = dir + "/tokens";
  CLI::App app("The coordinator of kbench: queue, store, results and metrics.", "kbench-server");
  app.footer(kFooter);
  app.set_version_flag("--version", KBENCH_VERSION);
  app.set_config("--config", dir + "/server.toml", "The configuration, read where it exists");
  app.allow_config_extras(CLI::config_extras_mode::error);
  DeclareServing(app, *options);
  DeclareAccess(app, options->server.access);
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      *exit_code = app.exit(error);
    } else {
      fmt::print(stderr, "kbench-server: {}; see kbench-server --help\n", error.what());
      *exit_code = kUsage;
    }
  }
  return false;
}

}  // namespace kbench::server
