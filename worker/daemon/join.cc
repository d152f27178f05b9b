#include "worker/daemon/join.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "grpcpp/client_context.h"
#include "kbench/v1/account_service.grpc.pb.h"
#include "proto/support/channel.h"
#include "proto/support/credentials.h"
#include "proto/support/error.h"
#include "proto/support/rpc_status.h"
#include "worker/daemon/worker_options.h"

namespace kbench {
namespace {

constexpr char kUsage[] =
    "usage: kbench-worker join LINE\n"
    "LINE is what `kbench-server invite NAME --role worker` printed; - reads it from standard "
    "input.\n";

absl::StatusOr<v1::WhoAmIResponse> Ask(const std::string& address, const Credentials& given) {
  const auto stub = v1::AccountService::NewStub(MakeChannel(address, given));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::WhoAmIResponse account;
  const absl::Status status = FromGrpc(stub->WhoAmI(&context, {}, &account));
  if (status.ok()) return account;
  const absl::Status connection = ExplainConnection(MessageOf(status), address);
  return connection.ok() ? status : connection;
}

absl::Status Join(const std::string& line) {
  KB_ASSIGN_OR_RETURN(const Invitation invitation, ParseJoinLine(line));
  const Credentials& given = invitation.credentials;
  if (given.role != "worker" && given.role != "admin") {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "this line is for a " + given.role +
                         "; a worker wants one of: kbench-server invite NAME --role worker",
                     {.reason = "BAD_JOIN_LINE"});
  }
  absl::Status failed;
  for (const std::string& address : invitation.addresses) {
    const auto account = Ask(address, given);
    if (account.ok()) {
      const std::string path = WorkerCredentialsPath();
      KB_RETURN_IF_ERROR(StoreCredentials(path, address, given));
      fmt::print("this worker is {} ({}) on {}; kept in {}\n", account->owner(), account->role(),
                 address, path);
      return absl::OkStatus();
    }
    if (failed.ok()) failed = account.status();
  }
  return failed;
}

}  // namespace

int RunJoin(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    std::fputs(kUsage, words.empty() ? stderr : stdout);
    return words.empty() ? kExitUsage : kExitOk;
  }
  std::string line = fmt::format("{}", fmt::join(words, ""));
  if (line == "-") {
    line.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  const absl::Status status = Join(line);
  if (status.ok()) return kExitOk;
  fmt::print(stderr, "kbench-worker: {}\n", MessageOf(status));
  return status.code() == absl::StatusCode::kInvalidArgument ? kExitUsage : kExitInfra;
}

}  // namespace kbench
