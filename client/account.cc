#include "client/account.h"

#include <fmt/format.h>
#include <unistd.h>

#include "absl/time/time.h"
#include "client/output/text_table.h"
#include "proto/support/clock.h"
#include "proto/support/user_name.h"

namespace kbench::client {

using kbench::v1::WhoAmIResponse;

absl::StatusOr<WhoAmIResponse> AskWhoAmI(const Backend& backend) {
  return Unary<WhoAmIResponse>(backend, [&](grpc::ClientContext* call, WhoAmIResponse* reply) {
    return backend.accounts->WhoAmI(call, {}, reply);
  });
}

absl::StatusOr<std::string> OwnerAt(const Backend& backend) {
  if (!backend.claimed_owner.empty()) return backend.claimed_owner;
  const auto account = AskWhoAmI(backend);
  if (!account.ok()) return account.status();
  return account->owner().empty() ? UserName(getuid()) : account->owner();
}

std::string AccountText(const WhoAmIResponse& account, const std::string& address) {
  const std::string who = account.owner().empty() ? "whoever you say" : Plain(account.owner());
  std::string text = fmt::format("{} ({}) on {}, by {}", who, Plain(account.role()), address,
                                 Plain(account.credential()));
  if (account.has_expire_time()) {
    const absl::Time end = absl::FromUnixMicros(ToMicros(account.expire_time()));
    text += " until " + absl::FormatTime("%Y-%m-%d %H:%M", end, absl::LocalTimeZone());
  }
  return text;
}

}  // namespace kbench::client
