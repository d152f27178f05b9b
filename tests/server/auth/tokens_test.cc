#include "server/auth/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "proto/support/error.h"
#include "server/auth/crypto.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server::auth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kNow = 1'800'000'000'000'000;

Token Sample(const std::string& id, const std::string& secret, const std::string& owner = "ana") {
  Token token;
  token.id = id;
  token.hash = Sha256Hex(secret);
  token.owner = owner;
  token.role = Role::kSubmitter;
  token.created_micros = kNow;
  token.expire_micros = kNow + 1'000'000;
  return token;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Tokens, SecretsAreLongAndDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string secret = MakeTokenSecret();
    EXPECT_EQ(secret.size(), 4u + 43u);
    EXPECT_TRUE(seen.insert(secret).second);
  }
}

TEST(Tokens, LinesAreReadBack) {
  Token one = Sample("one", "a");
  Token two = Sample("two", "b", "bo");
  two.certificate = true;
  two.revoked = true;
  two.role = Role::kWorker;
  two.expire_micros = 0;
  const auto parsed = ParseTokens(FormatTokens({one, two}));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].hash, one.hash);
  EXPECT_EQ((*parsed)[0].expire_micros, one.expire_micros);
  EXPECT_FALSE((*parsed)[0].revoked);
  EXPECT_EQ((*parsed)[1].owner, "bo");
  EXPECT_EQ((*parsed)[1].role, Role::kWorker);
  EXPECT_TRUE((*parsed)[1].revoked);
  EXPECT_TRUE((*parsed)[1].certificate);
  EXPECT_EQ((*parsed)[1].expire_micros, 0);
}

TEST(Tokens, DamagedFilesNameTheLine) {
  const std::string good = FormatTokens({Sample("one", "a")});
  for (const std::string& bad :
       {std::string("nonsense\n"), std::string("{}\n"), std::string("[1]\n"),
        good.substr(good.find('{')),  // the id again
        std::string(R"({"id":"x","sha256":"12","owner":"ana","role":"submitter"})"),
        std::string(R"({"id":"x","sha256":")") + std::string(64, 'a') +
            R"(","owner":"ana","role":"king","created":"2026-01-01T00:00:00Z","expires":"never"})",
        // Without an end: it must not hold for ever by mistake.
        std::string(R"({"id":"x","sha256":")") + std::string(64, 'a') +
            R"(","owner":"ana","role":"admin","created":"2026-01-01T00:00:00Z"})"}) {
    const auto parsed = ParseTokens(good + bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_THAT(MessageOf(parsed.status()), HasSubstr("line 3")) << bad;
  }
}

TEST(Tokens, TheFileIsPrivateAndHoldsNoSecret) {
  TempDir dir;
  const std::string secret = MakeTokenSecret();
  ASSERT_TRUE(AddToken(dir / "tokens", Sample("one", secret)).ok());
  EXPECT_THAT(ReadAll(dir / "tokens"), Not(HasSubstr(secret.substr(4))));
  struct stat info {};
  ASSERT_EQ(stat((dir / "tokens").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(Tokens, CommandsAtTheSameTimeLoseNothing) {
  TempDir dir;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string id = "t" + std::to_string(i);
      EXPECT_TRUE(AddToken(dir / "tokens", Sample(id, id)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto tokens = ReadTokenFile(dir / "tokens");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->size(), 8u);
}

TEST(Tokens, RevokingAnUnknownOneNamesTheKnown) {
  TempDir dir;
  ASSERT_TRUE(AddToken(dir / "tokens", Sample("one", "a")).ok());
  const auto unknown = RevokeToken(dir / "tokens", "two");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(unknown.status()), HasSubstr("one"));
  EXPECT_TRUE(RevokeToken(dir / "tokens", "one").ok());
  EXPECT_TRUE(RevokeToken(dir / "tokens", "one").ok());
}

TEST(TokenStore, SeesWhatTheCommandsDo) {
  TempDir dir;
  TokenStore store(dir / "tokens");
  ASSERT_TRUE(store.Refresh().ok());  // no file yet
  EXPECT_EQ(store.CheckUsable("one", kNow).code(), absl::StatusCode::kUnauthenticated);
  ASSERT_TRUE(AddToken(dir / "tokens", Sample("one", "a")).ok());
  const auto found = store.Find(Sha256Hex("a"));  // without waiting for the timer
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->owner, "ana");
  EXPECT_TRUE(store.CheckUsable("one", kNow).ok());
  EXPECT_EQ(DetailsOf(store.CheckUsable("one", kNow + 1'000'000)).reason, "EXPIRED_CREDENTIALS");
  ASSERT_TRUE(RevokeToken(dir / "tokens", "one").ok());
  ASSERT_TRUE(store.Refresh().ok());
  EXPECT_EQ(DetailsOf(store.CheckUsable("one", kNow)).reason, "REVOKED_CREDENTIALS");
}

TEST(TokenStore, KnowsWhoMayStillSubmit) {
  TempDir dir;
  TokenStore store(dir / "tokens");
  EXPECT_TRUE(store.CheckOwner("ana", kNow).ok()) << "nobody has credentials";
  ASSERT_TRUE(AddToken(dir / "tokens", Sample("one", "a")).ok());
  ASSERT_TRUE(AddToken(dir / "tokens", Sample("two", "b")).ok());
  ASSERT_TRUE(RevokeToken(dir / "tokens", "one").ok());
  ASSERT_TRUE(store.Refresh().ok());
  EXPECT_TRUE(store.CheckOwner("ana", kNow).ok()) << "by the other one";
  EXPECT_FALSE(store.CheckOwner("ana", kNow + 1'000'000).ok()) << "expired";
  ASSERT_TRUE(RevokeToken(dir / "tokens", "two").ok());
  ASSERT_TRUE(store.Refresh().ok());
  EXPECT_EQ(DetailsOf(store.CheckOwner("ana", kNow)).reason, "REVOKED_CREDENTIALS");
  EXPECT_EQ(DetailsOf(store.CheckOwner("ben", kNow)).reason, "UNKNOWN_CREDENTIALS")
      << "its line was taken out";
  EXPECT_TRUE(store.CheckOwner("root", kNow).ok()) << "a user of this machine";
}

TEST(TokenStore, ADamagedFileLeavesWhatWasKnown) {
  TempDir dir;
  ASSERT_TRUE(AddToken(dir / "tokens", Sample("one", "a")).ok());
  TokenStore store(dir / "tokens");
  ASSERT_TRUE(store.Refresh().ok());
  std::ofstream(dir / "tokens") << "half a li";
  EXPECT_FALSE(store.Refresh().ok());
  EXPECT_TRUE(store.CheckUsable("one", kNow).ok());
  std::ofstream(dir / "tokens") << "";
  EXPECT_TRUE(store.Refresh().ok());
  EXPECT_EQ(DetailsOf(store.CheckUsable("one", kNow)).reason, "UNKNOWN_CREDENTIALS");
}

}  // namespace
}  // namespace kbench::server::auth
