// join: take the line that `kbench-server invite` printed, see whether it works, keep it.
#include <fmt/format.h>

#include <iostream>
#include <vector>

#include "client/account.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "proto/support/credentials.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

constexpr char kStandardInput[] = "-";
constexpr std::size_t kMostInputBytes = 64 << 10;

class Join final : public Command {
 public:
  std::string name() const override { return "join"; }
  std::string help() const override { return "Join a coordinator: join kbench-join:..."; }
  void Declare(Arguments& arguments) override {
    // Several words: a terminal or a mail may have broken the line.
    arguments.Positionals("LINE", &words_,
                          "What `kbench-server invite` printed; - reads standard input");
  }

  int Run(Context& context) override {
    const auto invitation = ParseJoinLine(Line());
    if (!invitation.ok()) return ReportError(context.io, invitation.status());
    const Credentials& given = invitation->credentials;
    if (given.role == "worker") {
      return ReportError(context.io, MakeError(absl::StatusCode::kInvalidArgument,
                                               "this line is for a worker; on its machine: "
                                               "kbench-worker join LINE",
                                               {.reason = "BAD_JOIN_LINE"}));
    }
    absl::Status failed;
    for (const std::string& address : invitation->addresses) {
      const auto account = Try(address, given);
      if (account.ok()) return Keep(context, address, given, *account);
      if (failed.ok()) failed = account.status();
      // An answer of the coordinator is the same at every address.
      if (!DetailsOf(account.status()).reason.empty() &&
          account.status().code() != absl::StatusCode::kUnavailable) {
        failed = account.status();
        break;
      }
    }
    return ReportError(context.io, failed);
  }

 private:
  std::string Line() const {
    if (words_.size() != 1 || words_[0] != kStandardInput) {
      return fmt::format("{}", fmt::join(words_, ""));
    }
    std::string text;
    for (char c = 0; text.size() < kMostInputBytes && std::cin.get(c);) text.push_back(c);
    return text;
  }

  static absl::StatusOr<kbench::v1::WhoAmIResponse> Try(const std::string& address,
                                                        const Credentials& credentials) {
    const auto backend = ConnectWith(address, credentials);
    if (!backend.ok()) return backend.status();
    return AskWhoAmI(*backend);
  }

  static int Keep(Context& context, const std::string& address, const Credentials& credentials,
                  const kbench::v1::WhoAmIResponse& account) {
    const std::string path = ClientCredentialsPath();
    const absl::Status stored = StoreCredentials(path, address, credentials);
    if (!stored.ok()) return ReportError(context.io, stored);
    context.io.out << "you are " << AccountText(account, address) << "\n";
    context.io.err << fmt::format("kept in {}; try: kbench-client devices\n", path);
    return kExitOk;
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> MakeJoin() { return std::make_unique<Join>(); }

}  // namespace kbench::client
