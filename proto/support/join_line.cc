#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cctype>

#include "fmt/format.h"
#include "proto/support/base64url.h"
#include "proto/support/credentials.h"
#include "proto/support/credentials_json.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

constexpr std::size_t kMostLineBytes = 32 << 10;
constexpr std::size_t kCheckDigits = 8;
constexpr std::size_t kMostAddresses = 16;

// Finds a line that was cut or retyped wrongly; it guards against accidents, not against people.
std::string CheckDigits(const std::string& text) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return fmt::format("{:08x}", hash);
}

absl::Status Bad(const std::string& why) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "the join line " + why +
                       "; paste the whole line that `kbench-server invite` printed, as one word",
                   {.reason = "BAD_JOIN_LINE"});
}

// Terminals and mail programs break lines; the alphabet has no blanks.
std::string WithoutBlanks(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) out.push_back(c);
  }
  return out;
}

}  // namespace

std::string ToJoinLine(const Invitation& invitation) {
  google::protobuf::Struct fields = CredentialsToStruct(invitation.credentials);
  auto* addresses = (*fields.mutable_fields())["addresses"].mutable_list_value();
  for (const std::string& address : invitation.addresses) {
    addresses->add_values()->set_string_value(address);
  }
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(fields, &json);
  return kJoinPrefix + ToBase64Url(json + CheckDigits(json));
}

absl::StatusOr<Invitation> ParseJoinLine(const std::string& line) {
  if (line.size() > kMostLineBytes) return Bad("is too long");
  const std::string text = WithoutBlanks(line);
  if (text.rfind(kJoinPrefix, 0) != 0)
    return Bad(std::string("does not begin with ") + kJoinPrefix);
  const auto bytes = FromBase64Url(text.substr(sizeof(kJoinPrefix) - 1));
  if (!bytes.has_value()) return Bad("has a character that does not belong, or was cut");
  if (bytes->size() < kCheckDigits) return Bad("was cut");
  const std::string json = bytes->substr(0, bytes->size() - kCheckDigits);
  if (CheckDigits(json) != bytes->substr(json.size())) return Bad("was cut or changed");
  google::protobuf::Struct fields;
  if (!google::protobuf::util::JsonStringToMessage(json, &fields).ok())
    return Bad("holds no fields");
  Invitation invitation;
  KB_ASSIGN_OR_RETURN(invitation.credentials, CredentialsFromStruct(fields));
  const auto found = fields.fields().find("addresses");
  if (found != fields.fields().end()) {
    for (const auto& value : found->second.list_value().values()) {
      auto address = NormalizeAddress(value.string_value());
      if (!address.ok()) return Bad("names an address that is none");
      invitation.addresses.push_back(*std::move(address));
    }
  }
  if (invitation.addresses.empty() || invitation.addresses.size() > kMostAddresses) {
    return Bad("names no coordinator");
  }
  const Credentials& given = invitation.credentials;
  if (given.token.empty() && given.certificate.empty()) return Bad("carries no token");
  return invitation;
}

}  // namespace kbench
