#include "server/auth/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/support/local_identity.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server::auth {
namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000;
constexpr auto kHour = static_cast<std::int64_t>(kLocalTokenSeconds * 1e6);

TEST(LocalToken, NamesTheUserForAnHour) {
  const std::string token = MakeLocalToken("key", 1234, kNow);
  const auto user = CheckLocalToken("key", token, kNow);
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->uid, 1234u);
  EXPECT_FALSE(user->expired);
  EXPECT_TRUE(CheckLocalToken("key", token, kNow + kHour)->expired);
}

TEST(LocalToken, IsWorthNothingWhenChanged) {
  const std::string token = MakeLocalToken("key", 1234, kNow);
  EXPECT_FALSE(CheckLocalToken("other key", token, kNow).has_value());
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == '0' ? '1' : '0';
    EXPECT_FALSE(CheckLocalToken("key", changed, kNow).has_value()) << changed;
    EXPECT_FALSE(CheckLocalToken("key", token.substr(0, i), kNow).has_value()) << i;
  }
  for (const char* wrong : {"", "kbl_", "kbl_.", "kbl_..", "kbl_0.99999999999.", "kbt_0.1.2"}) {
    EXPECT_FALSE(CheckLocalToken("key", wrong, kNow).has_value()) << wrong;
  }
}

TEST(LocalKey, IsMadeOnceAndPrivate) {
  TempDir dir;
  const auto first = LoadLocalKey(dir / "key");
  const auto second = LoadLocalKey(dir / "key");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(first->size(), 32u);
  struct stat info {};
  ASSERT_EQ(stat((dir / "key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(IdentitySocket, TellsWhoHasConnected) {
  TempDir dir;
  FakeClock clock(kNow);
  const std::string path = dir / "s";
  LocalIdentity identity(path);
  EXPECT_EQ(identity.Token(), "");  // nobody there: a socket of one's own needs none
  {
    const auto socket = IdentitySocket::Listen(path + kIdentitySuffix, "key", clock);
    ASSERT_TRUE(socket.ok()) << socket.status();
    identity.Forget();
    const auto user = CheckLocalToken("key", identity.Token(), kNow);
    ASSERT_TRUE(user.has_value());
    EXPECT_EQ(user->uid, getuid());
    clock.Advance(1);
    const std::string kept = identity.Token();
    EXPECT_EQ(kept, identity.Token());
    identity.Forget();
    EXPECT_NE(kept, identity.Token());  // asked again: a second later it ends later
  }
  EXPECT_NE(access((path + kIdentitySuffix).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace kbench::server::auth
