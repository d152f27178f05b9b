#include "server/auth/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::server::auth {
namespace {

constexpr double kDayMicros = 86'400e6;

TEST(Certificates, SayWhatTheyAreFor) {
  const auto authority = MakeAuthority("test authority", 3650);
  ASSERT_TRUE(authority.ok()) << authority.status();
  const std::vector<std::string> hosts = {"lab.example.org", "localhost", "10.0.0.3", "::1"};
  const auto server = MakeServerCertificate(*authority, hosts, 365);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto facts = ReadCertificate(server->certificate);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->common_name, "kbench-server");
  EXPECT_EQ(facts->hosts, hosts);
  EXPECT_EQ(facts->fingerprint.size(), 64u);
  const double left = static_cast<double>(facts->not_after_micros - SystemClock().WallMicros());
  EXPECT_NEAR(left, 365 * kDayMicros, kDayMicros);
  const auto client = MakeClientCertificate(*authority, "ana", Role::kCode, 90);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(ReadCertificate(client->certificate)->common_name, "ana");
}

TEST(Certificates, RolesAreUris) {
  for (const Role role :
       {Role::kViewer, Role::kSubmitter, Role::kCode, Role::kWorker, Role::kAdmin}) {
    EXPECT_EQ(RoleOfUri(RoleUri(role)), role);
  }
  for (const char* wrong : {"", "kbench://role/", "kbench://role/king", "kbench://role/none",
                            "https://role/admin", "kbench://role/admin/x"}) {
    EXPECT_EQ(RoleOfUri(wrong), Role::kNone) << wrong;
  }
}

TEST(Certificates, RefuseWhatWouldSlipIntoOtherFields) {
  const auto authority = MakeAuthority("test authority", 1);
  ASSERT_TRUE(authority.ok());
  for (const std::string& host :
       {std::string(), std::string("a,DNS:evil"), std::string("*"), std::string("a b"),
        std::string("-a"), std::string("a\n"), std::string(254, 'a')}) {
    EXPECT_FALSE(MakeServerCertificate(*authority, {host}, 1).ok()) << host;
  }
  EXPECT_FALSE(
      MakeClientCertificate(*authority, "ana,URI:kbench://role/admin", Role::kViewer, 1).ok());
}

TEST(Certificates, ABrokenAuthorityIsTold) {
  const auto one = MakeAuthority("one", 1);
  const auto two = MakeAuthority("two", 1);
  ASSERT_TRUE(one.ok() && two.ok());
  const auto mixed = MakeServerCertificate({one->key, two->certificate}, {"localhost"}, 1);
  EXPECT_THAT(MessageOf(mixed.status()), ::testing::HasSubstr("does not belong"));
  EXPECT_FALSE(MakeServerCertificate({"", ""}, {"localhost"}, 1).ok());
  EXPECT_FALSE(ReadCertificate("-----BEGIN CERTIFICATE-----\nAAAA\n").ok());
}

}  // namespace
}  // namespace kbench::server::auth
