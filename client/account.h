// Whom the coordinator takes us for, as words for a person. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/backend.h"
#include "kbench/v1/account_service.pb.h"

namespace kbench::client {

absl::StatusOr<kbench::v1::WhoAmIResponse> AskWhoAmI(const Backend& backend);

// Whose jobs ours are there.
absl::StatusOr<std::string> OwnerAt(const Backend& backend);

// "ana (submitter) on lab:7600, by token k3f9x2ab until 2027-02-28"
std::string AccountText(const kbench::v1::WhoAmIResponse& account, const std::string& address);

}  // namespace kbench::client
