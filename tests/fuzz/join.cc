// Join lines, credentials as JSON and the coordinator's file of tokens: an error that repeats
// nothing secret, or something that is written back the same.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <string>

#include "proto/support/credentials.h"
#include "proto/support/credentials_json.h"
#include "server/auth/tokens.h"
#include "tests/fuzz/check.h"

namespace {

void TryLine(const std::string& line) {
  const auto invitation = kbench::ParseJoinLine(line);
  if (!invitation.ok()) return;
  const std::string written = kbench::ToJoinLine(*invitation);
  const auto again = kbench::ParseJoinLine(written);
  KB_FUZZ_CHECK(again.ok());
  const kbench::Credentials& before = invitation->credentials;
  const kbench::Credentials& after = again->credentials;
  KB_FUZZ_CHECK(again->addresses == invitation->addresses);
  KB_FUZZ_CHECK(after.token == before.token && after.ca == before.ca && after.tls == before.tls);
  KB_FUZZ_CHECK(after.owner == before.owner && after.role == before.role);
}

void TryJson(const std::string& text) {
  google::protobuf::Struct fields;
  if (!google::protobuf::util::JsonStringToMessage(text, &fields).ok()) return;
  const auto credentials = kbench::CredentialsFromStruct(fields);
  if (!credentials.ok()) return;
  TryLine(kbench::ToJoinLine({{"localhost:7600"}, *credentials}));
}

void TryTokens(const std::string& text) {
  const auto tokens = kbench::server::auth::ParseTokens(text);
  if (!tokens.ok()) return;
  const auto again = kbench::server::auth::ParseTokens(kbench::server::auth::FormatTokens(*tokens));
  KB_FUZZ_CHECK(again.ok() && again->size() == tokens->size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  TryLine(text);
  TryLine(kbench::kJoinPrefix + text);
  TryJson(text);
  TryTokens(text);
  return 0;
}
