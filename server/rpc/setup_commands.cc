#include "server/rpc/setup_commands.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "server/auth/setup.h"
#include "server/auth/times.h"

namespace kbench::server {
namespace {

constexpr int kOk = 0;
constexpr int kUsage = 2;
constexpr int kFailed = 5;
constexpr const char* kCommands[] = {"init", "renew", "invite", "tokens"};

struct Options {
  std::string dir = auth::ServerConfigDir();
  auth::InitOptions init;
  std::vector<std::string> renew_hosts;
  auth::InviteOptions invite;
  std::string role = "submitter";
  std::string id;
};

absl::Status Init(const Options& options) {
  const auto hosts = auth::Initialize(options.dir, options.init);
  if (!hosts.ok()) return hosts.status();
  const auth::SetupPaths paths{options.dir};
  fmt::print(
      "{} made, with an authority for 10 years and a certificate for 1 year\n"
      "the certificate is for {}\n"
      "start with:        kbench-server --config {}\n"
      "let somebody in:   kbench-server invite NAME --role submitter\n",
      paths.config(), fmt::join(*hosts, ", "), paths.config());
  return absl::OkStatus();
}

absl::Status Renew(const Options& options) {
  const auto hosts = auth::Renew(options.dir, options.renew_hosts);
  if (!hosts.ok()) return hosts.status();
  fmt::print("a new certificate for 1 year, for {}; a running server takes it within seconds\n",
             fmt::join(*hosts, ", "));
  return absl::OkStatus();
}

absl::Status Invite(Options& options) {
  auto role = auth::ParseRole(options.role);
  if (!role.ok()) return role.status();
  options.invite.role = *role;
  const auto invited = auth::Invite(options.dir, options.invite);
  if (!invited.ok()) return invited.status();
  // The line alone on standard output: `kbench-server invite ana | ssh ana@host ...`.
  fmt::print("{}\n", invited->line);
  fmt::print(stderr,
             "credential {} for {} ({}), {}; whoever has the line is {}: pass it on in private.\n"
             "There: {} join LINE. End it with: kbench-server tokens revoke {}\n",
             invited->token.id, invited->token.owner, options.role,
             invited->token.expire_micros == 0
                 ? "without end"
                 : "until " + auth::FormatTime(invited->token.expire_micros),
             invited->token.owner, *role == auth::Role::kWorker ? "kbench-worker" : "kbench-client",
             invited->token.id);
  return absl::OkStatus();
}

absl::Status ListTokens(const Options& options) {
  KB_ASSIGN_OR_RETURN(const std::string path, auth::TokensPath(options.dir));
  KB_ASSIGN_OR_RETURN(const auto tokens, auth::ReadTokenFile(path));
  if (tokens.empty()) fmt::print("nobody was invited yet\n");
  const std::int64_t now = SystemClock().WallMicros();
  for (const auth::Token& token : tokens) {
    const bool expired = token.expire_micros != 0 && token.expire_micros <= now;
    fmt::print("{:<8}  {:<11}  {:<16}  {:<9}  until {:<20}  {}\n", token.id,
               token.certificate ? "certificate" : "token", token.owner, auth::RoleName(token.role),
               token.expire_micros == 0 ? "-" : auth::FormatTime(token.expire_micros),
               token.revoked ? "revoked" : (expired ? "expired" : "valid"));
  }
  return absl::OkStatus();
}

absl::Status Revoke(const Options& options) {
  KB_ASSIGN_OR_RETURN(const std::string path, auth::TokensPath(options.dir));
  KB_ASSIGN_OR_RETURN(const auth::Token token, auth::RevokeToken(path, options.id));
  fmt::print("credential {} of {} is revoked; a running server ends its streams within seconds\n",
             token.id, token.owner);
  return absl::OkStatus();
}

int Report(const absl::Status& status) {
  if (status.ok()) return kOk;
  fmt::print(stderr, "kbench-server: {}\n", MessageOf(status));
  const bool usage = status.code() == absl::StatusCode::kInvalidArgument ||
                     status.code() == absl::StatusCode::kNotFound;
  return usage ? kUsage : kFailed;
}

}  // namespace

bool IsSetupCommand(const std::string& word) {
  return std::find(std::begin(kCommands), std::end(kCommands), word) != std::end(kCommands);
}

int RunSetupCommand(int argc, const char* const* argv) {
  Options options;
  CLI::App app("Who may talk to the coordinator.", "kbench-server");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--config-dir", options.dir, "The folder of server.toml, tokens and tls/")
      ->capture_default_str();

  CLI::App* init = app.add_subcommand("init", "Make an authority, a certificate, a configuration");
  init->add_option("--name", options.init.hosts,
                   "A host name or IP address people use; repeatable (default: this machine's)");
  init->add_option("--listen", options.init.listen, "HOST:PORT")->capture_default_str();
  init->add_flag("--force", options.init.force, "Overwrite: everybody has to join again");

  CLI::App* renew = app.add_subcommand("renew", "Make a new server certificate");
  renew->add_option("--name", options.renew_hosts, "As of init (default: as before)");

  CLI::App* invite = app.add_subcommand("invite", "Print one line that lets somebody join");
  invite->add_option("owner", options.invite.owner, "Their name")->required();
  invite->add_option("--role", options.role, "viewer, submitter, code, worker or admin")
      ->capture_default_str();
  invite->add_option("--days", options.invite.days, "How long it holds; 0: without end")
      ->check(CLI::Range(0, auth::kAuthorityDays))
      ->capture_default_str();
  invite->add_flag("--certificate", options.invite.certificate,
                   "A client certificate (mutual TLS) instead of a token");
  invite->add_option("--address", options.invite.addresses,
                     "Where the coordinator is to be found; repeatable (default: the names of its "
                     "certificate)");

  CLI::App* tokens = app.add_subcommand("tokens", "Whom invite has let in");
  tokens->require_subcommand(1);
  CLI::App* list = tokens->add_subcommand("list", "All of them, without the secrets");
  CLI::App* revoke = tokens->add_subcommand("revoke", "End one");
  revoke->add_option("ID", options.id, "As list prints it")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "kbench-server: {}; see kbench-server {} --help\n", error.what(), argv[1]);
    return kUsage;
  }
  if (*init) return Report(Init(options));
  if (*renew) return Report(Renew(options));
  if (*invite) return Report(Invite(options));
  return Report(*list ? ListTokens(options) : Revoke(options));
}

}  // namespace kbench::server
