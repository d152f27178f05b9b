#include "proto/support/credentials_json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/support/error.h"

namespace kbench {
namespace {

constexpr std::pair<const char*, std::string Credentials::*> kTexts[] = {
    {"ca", &Credentials::ca},       {"token", &Credentials::token},
    {"key", &Credentials::key},     {"certificate", &Credentials::certificate},
    {"owner", &Credentials::owner}, {"role", &Credentials::role}};

// What travels in a header must be one line of visible characters.
bool IsHeaderText(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

google::protobuf::Struct CredentialsToStruct(const Credentials& credentials) {
  google::protobuf::Struct fields;
  auto& map = *fields.mutable_fields();
  for (const auto& [name, member] : kTexts) {
    if (!(credentials.*member).empty()) map[name].set_string_value(credentials.*member);
  }
  if (credentials.tls) map["tls"].set_bool_value(true);
  if (credentials.expire_seconds > 0) {
    map["expires"].set_number_value(static_cast<double>(credentials.expire_seconds));
  }
  return fields;
}

absl::StatusOr<Credentials> CredentialsFromStruct(const google::protobuf::Struct& fields) {
  Credentials credentials;
  const auto find = [&](const char* name) -> const google::protobuf::Value* {
    const auto found = fields.fields().find(name);
    return found == fields.fields().end() ? nullptr : &found->second;
  };
  for (const auto& [name, member] : kTexts) {
    if (const auto* value = find(name)) credentials.*member = value->string_value();
  }
  if (const auto* tls = find("tls")) credentials.tls = tls->bool_value();
  if (const auto* expires = find("expires")) {
    const double seconds = expires->number_value();
    // 1970 to the year 9999.
    if (seconds > 0 && seconds < 253402300800.0) credentials.expire_seconds = std::llround(seconds);
  }
  if (!IsHeaderText(credentials.token) ||
      credentials.certificate.empty() != credentials.key.empty()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "the credentials are damaged; join again with a new line",
                     {.reason = "BAD_CREDENTIALS"});
  }
  return credentials;
}

}  // namespace kbench
