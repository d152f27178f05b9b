#include "server/auth/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "proto/support/credentials.h"
#include "proto/support/error.h"
#include "server/auth/certificates.h"
#include "server/auth/crypto.h"
#include "server/auth/hosts.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server::auth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
}

InitOptions Named(const std::string& host) { return {{host}, "127.0.0.1:7600", false}; }

TEST(Setup, MakesWhatAServerNeedsForItselfAlone) {
  TempDir dir;
  const SetupPaths paths{dir / "sub/kbench"};
  const auto hosts = Initialize(paths.dir, Named("lab.example.org"));
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(*hosts, ElementsAre("lab.example.org", "localhost", "127.0.0.1", "::1"));
  EXPECT_EQ(ModeOf(paths.dir), 0700u);
  EXPECT_EQ(ModeOf(paths.tls_dir()), 0700u);
  for (const std::string& file :
       {paths.config(), paths.ca_key(), paths.ca_certificate(), paths.server()}) {
    EXPECT_EQ(ModeOf(file), 0600u) << file;
  }
  EXPECT_EQ(ReadCertificate(ReadAll(paths.server()))->hosts, *hosts);
}

TEST(Setup, OverwritesOnlyByForce) {
  TempDir dir;
  const SetupPaths paths{dir / "kbench"};
  ASSERT_TRUE(Initialize(paths.dir, Named("lab")).ok());
  const std::string before = ReadAll(paths.ca_key());
  const auto again = Initialize(paths.dir, Named("lab"));
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(MessageOf(again.status()), HasSubstr("--force"));
  EXPECT_EQ(ReadAll(paths.ca_key()), before);
  InitOptions force = Named("lab");
  force.force = true;
  ASSERT_TRUE(Initialize(paths.dir, force).ok());
  EXPECT_NE(ReadAll(paths.ca_key()), before);
}

TEST(Setup, WrongNamesChangeNothing) {
  TempDir dir;
  EXPECT_FALSE(Initialize(dir / "kbench", Named("a b")).ok());
  EXPECT_FALSE(Initialize(dir / "kbench", {{"lab"}, "nonsense", false}).ok());
  EXPECT_FALSE(std::filesystem::exists(dir / "kbench"));
}

TEST(Setup, RenewKeepsTheAuthorityAndTheNames) {
  TempDir dir;
  const SetupPaths paths{dir / "kbench"};
  EXPECT_THAT(MessageOf(Renew(paths.dir, {}).status()), HasSubstr("kbench-server init"));
  ASSERT_TRUE(Initialize(paths.dir, Named("lab")).ok());
  const std::string ca = ReadAll(paths.ca_certificate());
  const std::string before = ReadAll(paths.server());
  const auto hosts = Renew(paths.dir, {});
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(*hosts, ElementsAre("lab", "localhost", "127.0.0.1", "::1"));
  EXPECT_NE(ReadAll(paths.server()), before);
  EXPECT_EQ(ReadAll(paths.ca_certificate()), ca);
  EXPECT_THAT(*Renew(paths.dir, {"other"}), ElementsAre("other", "localhost", "127.0.0.1", "::1"));
}

TEST(Setup, AnInvitationIsOneLine) {
  TempDir dir;
  const SetupPaths paths{dir / "kbench"};
  ASSERT_TRUE(Initialize(paths.dir, Named("lab")).ok());
  const auto invited = Invite(paths.dir, {.owner = "ana", .role = Role::kCode, .days = 7});
  ASSERT_TRUE(invited.ok()) << invited.status();
  EXPECT_EQ(invited->line.find_first_of(" \n\t'\"$&;|<>()"), std::string::npos);
  EXPECT_LT(invited->line.size(), 4096u);  // what a terminal takes as one line
  const auto parsed = ParseJoinLine(invited->line);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->addresses, ElementsAre("lab:7600"));
  EXPECT_EQ(parsed->credentials.ca, ReadAll(paths.ca_certificate()));
  EXPECT_EQ(parsed->credentials.owner, "ana");
  EXPECT_EQ(parsed->credentials.role, "code");
  const auto tokens = ReadTokenFile(paths.tokens());
  ASSERT_TRUE(tokens.ok() && tokens->size() == 1);
  EXPECT_EQ((*tokens)[0].hash, Sha256Hex(parsed->credentials.token));
  EXPECT_EQ((*tokens)[0].expire_micros - (*tokens)[0].created_micros,
            std::int64_t{7} * 86'400 * 1'000'000);
}

TEST(Setup, AnInvitationByCertificateHoldsNoToken) {
  TempDir dir;
  ASSERT_TRUE(Initialize(dir / "kbench", Named("lab")).ok());
  const auto invited = Invite(dir / "kbench", {.owner = "ana", .certificate = true});
  ASSERT_TRUE(invited.ok()) << invited.status();
  EXPECT_LT(invited->line.size(), 4096u);
  const auto parsed = ParseJoinLine(invited->line);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->credentials.token, "");
  EXPECT_EQ(ReadCertificate(parsed->credentials.certificate)->fingerprint, invited->token.hash);
}

TEST(Setup, WrongInvitationsLeaveNoToken) {
  TempDir dir;
  EXPECT_THAT(MessageOf(Invite(dir / "kbench", {.owner = "ana"}).status()), HasSubstr("--address"));
  ASSERT_TRUE(Initialize(dir / "kbench", Named("lab")).ok());
  EXPECT_FALSE(Invite(dir / "kbench", {.owner = "a b"}).ok());
  EXPECT_FALSE(Invite(dir / "kbench", {.owner = "ana", .addresses = {"nonsense"}}).ok());
  EXPECT_FALSE(std::filesystem::exists(dir / "kbench/tokens"));
}

TEST(Setup, TheTokensLieWhereTheConfigurationSays) {
  TempDir dir;
  std::filesystem::create_directory(dir / "kbench");
  EXPECT_EQ(*TokensPath(dir / "kbench"), dir / "kbench/tokens");
  std::ofstream(dir / "kbench/server.toml") << "tokens = \"/somewhere/else\"\n";
  EXPECT_EQ(*TokensPath(dir / "kbench"), "/somewhere/else");
}

TEST(Hosts, OfThisMachineMayStandInACertificate) {
  for (const std::string& host : OwnHosts()) {
    EXPECT_TRUE(CheckHost(host).ok()) << host;
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
  EXPECT_EQ(HostAndPort("lab", "7600"), "lab:7600");
  EXPECT_EQ(HostAndPort("fe80::1", "7600"), "[fe80::1]:7600");
}

}  // namespace
}  // namespace kbench::server::auth
