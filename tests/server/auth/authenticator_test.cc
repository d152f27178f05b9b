#include "server/auth/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "proto/support/error.h"
#include "server/auth/certificates.h"
#include "server/auth/crypto.h"
#include "server/auth/peer.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server::auth {
namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000;
constexpr uid_t kOwnUid = 4242;

class AuthenticatorTest : public ::testing::Test {
 protected:
  Authenticator Make(const AuthOptions& options = {}) {
    return Authenticator(options, tokens_, "key", kOwnUid);
  }

  // The secret of a new token.
  std::string Invite(Role role, std::int64_t expire_micros = 0, bool revoked = false) {
    Token token;
    token.id = "t" + std::to_string(++count_);
    const std::string secret = MakeTokenSecret();
    token.hash = Sha256Hex(secret);
    token.owner = "ana";
    token.role = role;
    token.created_micros = kNow - 1000;
    token.expire_micros = expire_micros;
    token.revoked = revoked;
    EXPECT_TRUE(AddToken(dir_ / "tokens", token).ok());
    EXPECT_TRUE(tokens_.Refresh().ok());
    return secret;
  }

  static Presented Bearer(Transport transport, const std::string& token) {
    return {transport, {"Bearer " + token}, {}, {}, {}};
  }

  static void ExpectRefused(const absl::StatusOr<Caller>& caller, const std::string& reason) {
    ASSERT_FALSE(caller.ok()) << "instead of " << reason;
    EXPECT_EQ(caller.status().code(), absl::StatusCode::kUnauthenticated);
    EXPECT_EQ(DetailsOf(caller.status()).reason, reason);
  }

  TempDir dir_;
  TokenStore tokens_{dir_ / "tokens"};
  int count_ = 0;
};

TEST_F(AuthenticatorTest, ATokenSaysWho) {
  Authenticator authenticator = Make();
  const std::string secret = Invite(Role::kCode, kNow + 5'000'000);
  for (const Transport transport : {Transport::kTls, Transport::kUnix, Transport::kPlainLoopback}) {
    const auto caller = authenticator.Identify(Bearer(transport, secret), kNow);
    ASSERT_TRUE(caller.ok()) << caller.status();
    EXPECT_EQ(caller->owner, "ana");
    EXPECT_EQ(caller->role, Role::kCode);
    EXPECT_EQ(caller->credential, "token t1");
    EXPECT_TRUE(caller->verified);
  }
  Presented lower{Transport::kTls, {"bearer " + secret}, {}, {}, {}};
  EXPECT_TRUE(authenticator.Identify(lower, kNow).ok());
}

TEST_F(AuthenticatorTest, ATokenThatMayNotBeUsed) {
  Authenticator authenticator = Make();
  const std::string secret = Invite(Role::kAdmin, kNow + 5'000'000);
  const std::string revoked = Invite(Role::kAdmin, 0, true);
  const auto identify = [&](const Presented& presented, std::int64_t now = kNow) {
    return authenticator.Identify(presented, now);
  };
  ExpectRefused(identify(Bearer(Transport::kTls, secret), kNow + 5'000'000), "EXPIRED_CREDENTIALS");
  ExpectRefused(identify(Bearer(Transport::kTls, revoked)), "REVOKED_CREDENTIALS");
  ExpectRefused(identify(Bearer(Transport::kTls, MakeTokenSecret())), "UNKNOWN_CREDENTIALS");
  ExpectRefused(identify(Bearer(Transport::kPlainNetwork, secret)), "TOKEN_IN_THE_CLEAR");
  ExpectRefused(identify(Bearer(Transport::kTls, secret + "x")), "UNKNOWN_CREDENTIALS");
  // The hash that the file holds is no token.
  ExpectRefused(identify(Bearer(Transport::kTls, Sha256Hex(secret))), "UNKNOWN_CREDENTIALS");
}

TEST_F(AuthenticatorTest, AMalformedHeaderIsRefusedAndNotRepeated) {
  AuthOptions open;
  open.anonymous_role = Role::kAdmin;
  Authenticator authenticator = Make(open);
  const std::string secret = Invite(Role::kAdmin);
  const std::vector<std::vector<std::string>> wrong = {{secret},
                                                       {"Basic " + secret},
                                                       {"Bearer"},
                                                       {""},
                                                       {"Bearer " + secret, "Bearer " + secret},
                                                       {"Bearer " + std::string(10'000, 'x')}};
  for (const auto& headers : wrong) {
    for (const Transport transport :
         {Transport::kTls, Transport::kUnix, Transport::kPlainLoopback}) {
      const auto caller = authenticator.Identify({transport, headers, {}, {}, {}}, kNow);
      ExpectRefused(caller, "MALFORMED_CREDENTIALS");
      EXPECT_THAT(MessageOf(caller.status()), ::testing::Not(::testing::HasSubstr(secret)));
    }
  }
}

TEST_F(AuthenticatorTest, WhoBringsNothing) {
  Authenticator closed = Make();
  ExpectRefused(closed.Identify({Transport::kTls, {}, {}, {}, {}}, kNow), "NO_CREDENTIALS");
  const auto socket = closed.Identify({Transport::kUnix, {}, {}, {}, {}}, kNow);
  ASSERT_TRUE(socket.ok());
  EXPECT_EQ(socket->role, Role::kAdmin);
  EXPECT_EQ(socket->owner, "uid4242");
  for (const Transport plain : {Transport::kPlainLoopback, Transport::kPlainNetwork}) {
    const auto anybody = closed.Identify({plain, {}, {}, {}, {}}, kNow);
    ASSERT_TRUE(anybody.ok());
    EXPECT_EQ(anybody->role, Role::kSubmitter);
    EXPECT_FALSE(anybody->verified);
  }
  AuthOptions options;
  options.anonymous_role = Role::kNone;
  options.share_socket = true;
  Authenticator stricter = Make(options);
  for (const Transport transport : {Transport::kUnix, Transport::kPlainLoopback}) {
    ExpectRefused(stricter.Identify({transport, {}, {}, {}, {}}, kNow), "NO_CREDENTIALS");
  }
}

TEST_F(AuthenticatorTest, LocalUsersOfASharedSocket) {
  AuthOptions options;
  options.share_socket = true;
  options.local_role = Role::kViewer;
  Authenticator authenticator = Make(options);
  const auto role_of = [&](uid_t uid) {
    const auto caller =
        authenticator.Identify(Bearer(Transport::kUnix, MakeLocalToken("key", uid, kNow)), kNow);
    return caller.ok() ? caller->role : Role::kNone;
  };
  EXPECT_EQ(role_of(0), Role::kAdmin);
  EXPECT_EQ(role_of(kOwnUid), Role::kAdmin);
  EXPECT_EQ(role_of(77), Role::kViewer);
  const std::string token = MakeLocalToken("key", 0, kNow);
  const auto later = kNow + static_cast<std::int64_t>(kLocalTokenSeconds * 1e6);
  ExpectRefused(authenticator.Identify(Bearer(Transport::kUnix, token), later),
                "EXPIRED_CREDENTIALS");
  ExpectRefused(
      authenticator.Identify(Bearer(Transport::kUnix, MakeLocalToken("other", 0, kNow)), kNow),
      "UNKNOWN_CREDENTIALS");
  // It never leaves the machine, nor serves where the socket is not shared.
  for (const Transport elsewhere : {Transport::kTls, Transport::kPlainLoopback}) {
    ExpectRefused(authenticator.Identify(Bearer(elsewhere, token), kNow), "WRONG_PLACE");
  }
  Authenticator unshared = Make();
  ExpectRefused(unshared.Identify(Bearer(Transport::kUnix, token), kNow), "WRONG_PLACE");
  options.local_role = Role::kNone;
  Authenticator none = Make(options);
  ExpectRefused(none.Identify(Bearer(Transport::kUnix, MakeLocalToken("key", 77, kNow)), kNow),
                "NO_CREDENTIALS");
}

TEST_F(AuthenticatorTest, ACertificateOfOurAuthorityCountsByItsLineAlone) {
  Authenticator authenticator = Make();
  const auto authority = MakeAuthority(std::string(kAuthorityPrefix) + "lab", 10);
  ASSERT_TRUE(authority.ok());
  const auto pair = MakeClientCertificate(*authority, "bo", Role::kAdmin, 10);
  ASSERT_TRUE(pair.ok());
  const Presented shown{Transport::kTls, {}, pair->certificate, "bo", {"kbench://role/admin"}};
  ExpectRefused(authenticator.Identify(shown, kNow), "UNKNOWN_CREDENTIALS");

  Token token;
  token.id = "c1";
  token.hash = ReadCertificate(pair->certificate)->fingerprint;
  token.certificate = true;
  token.owner = "bo";
  token.role = Role::kAdmin;
  ASSERT_TRUE(AddToken(dir_ / "tokens", token).ok());
  ASSERT_TRUE(tokens_.Refresh().ok());
  EXPECT_TRUE(authenticator.Identify(shown, kNow).ok());
  ASSERT_TRUE(RevokeToken(dir_ / "tokens", "c1").ok());
  ASSERT_TRUE(tokens_.Refresh().ok());
  ExpectRefused(authenticator.Identify(shown, kNow), "REVOKED_CREDENTIALS");

  // The file of a backup without it, one that somebody moved away, a new one with others only.
  std::filesystem::remove(dir_ / "tokens");
  ASSERT_TRUE(tokens_.Refresh().ok());
  EXPECT_TRUE(tokens_.missing());
  ExpectRefused(authenticator.Identify(shown, kNow), "UNKNOWN_CREDENTIALS");
  Invite(Role::kSubmitter);
  EXPECT_FALSE(tokens_.missing());
  ExpectRefused(authenticator.Identify(shown, kNow), "UNKNOWN_CREDENTIALS");
}

TEST_F(AuthenticatorTest, ACertificateOfAnotherAuthoritySaysWhoUntilItIsRevoked) {
  Authenticator authenticator = Make();
  const auto authority = MakeAuthority("test", 10);
  ASSERT_TRUE(authority.ok());
  const auto pair = MakeClientCertificate(*authority, "bo", Role::kSubmitter, 10);
  ASSERT_TRUE(pair.ok());
  Presented shown{Transport::kTls, {}, pair->certificate, "bo", {"kbench://role/submitter"}};
  const auto caller = authenticator.Identify(shown, kNow);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->owner, "bo");
  EXPECT_EQ(caller->role, Role::kSubmitter);

  shown.uris = {"https://elsewhere"};
  ExpectRefused(authenticator.Identify(shown, kNow), "MALFORMED_CREDENTIALS");
  shown.uris = {"kbench://role/submitter"};
  shown.common_name = "b\no";
  ExpectRefused(authenticator.Identify(shown, kNow), "MALFORMED_CREDENTIALS");

  Token token;
  token.id = "c1";
  token.hash = ReadCertificate(pair->certificate)->fingerprint;
  token.certificate = true;
  token.owner = "bo";
  token.role = Role::kSubmitter;
  token.revoked = true;
  ASSERT_TRUE(AddToken(dir_ / "tokens", token).ok());
  ASSERT_TRUE(tokens_.Refresh().ok());
  shown.common_name = "bo";
  ExpectRefused(authenticator.Identify(shown, kNow), "REVOKED_CREDENTIALS");
}

}  // namespace
}  // namespace kbench::server::auth
