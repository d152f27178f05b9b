// Join lines, and credentials as they are kept.
#include "proto/support/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "proto/support/base64url.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Base64Url, TakesEveryByteAndLength) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    const std::string text = ToBase64Url(bytes);
    EXPECT_EQ(text.find_first_of("+/= \n"), std::string::npos);
    EXPECT_EQ(FromBase64Url(text), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
  EXPECT_EQ(ToBase64Url("fo"), "Zm8");
  for (const char* wrong : {"a", "ab+c", "ab=", "a b", "\xff\xff"}) {
    EXPECT_FALSE(FromBase64Url(wrong).has_value()) << wrong;
  }
}

Invitation Sample() {
  Invitation invitation;
  invitation.addresses = {"lab:7600", "10.0.0.3:7600"};
  invitation.credentials.ca = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  invitation.credentials.token = "kbt_secret";
  invitation.credentials.owner = "ana";
  invitation.credentials.role = "submitter";
  invitation.credentials.expire_seconds = 4'000'000'000;
  return invitation;
}

TEST(JoinLine, IsReadBack) {
  const std::string line = ToJoinLine(Sample());
  EXPECT_EQ(line.rfind(kJoinPrefix, 0), 0u);
  for (const std::string& text :
       {line, " " + line + "\n", line.substr(0, 40) + "\n  " + line.substr(40)}) {
    const auto read = ParseJoinLine(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_THAT(read->addresses, ElementsAre("lab:7600", "10.0.0.3:7600"));
    EXPECT_EQ(read->credentials.ca, Sample().credentials.ca);
    EXPECT_EQ(read->credentials.token, "kbt_secret");
    EXPECT_EQ(read->credentials.owner, "ana");
    EXPECT_EQ(read->credentials.expire_seconds, 4'000'000'000);
  }
}

void ExpectBad(const std::string& line) {
  const auto read = ParseJoinLine(line);
  ASSERT_FALSE(read.ok()) << line;
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(DetailsOf(read.status()).reason,
              ::testing::AnyOf("BAD_JOIN_LINE", "BAD_CREDENTIALS"));
  if (line.size() > 20) {
    EXPECT_THAT(MessageOf(read.status()), Not(HasSubstr(line.substr(12, 8))));
  }
}

TEST(JoinLine, EveryCutOrChangeIsNoticed) {
  const std::string line = ToJoinLine(Sample());
  for (std::size_t i = 0; i < line.size(); ++i) {
    ExpectBad(line.substr(0, i));
    std::string changed = line;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    if (i + 1 < line.size()) ExpectBad(changed);  // the last character has unused bits
  }
}

TEST(JoinLine, WhatIsInItMustBeWhole) {
  for (const char* bad : {"", "kbench-join:", "kbench-join:!!", "https://lab", "kbt_secret"}) {
    ExpectBad(bad);
  }
  ExpectBad(std::string(kJoinPrefix) + std::string(40'000, 'A'));
  Invitation none = Sample();
  none.addresses.clear();
  ExpectBad(ToJoinLine(none));
  Invitation strange = Sample();
  strange.addresses = {"nonsense"};
  ExpectBad(ToJoinLine(strange));
  Invitation bare = Sample();
  bare.credentials.token.clear();
  ExpectBad(ToJoinLine(bare));
  Invitation lines = Sample();
  lines.credentials.token = "a\r\nother-header: x";
  ExpectBad(ToJoinLine(lines));
  Invitation half = Sample();
  half.credentials.certificate = "PEM";
  ExpectBad(ToJoinLine(half));
}

TEST(JoinLine, IsNeverTakenForAnAddress) {
  const std::string line = ToJoinLine(Sample());
  const auto address = NormalizeAddress(line);
  ASSERT_FALSE(address.ok());
  EXPECT_THAT(MessageOf(address.status()), HasSubstr("kbench-client join"));
  EXPECT_THAT(MessageOf(address.status()), Not(HasSubstr(line.substr(12, 8))));
}

class StoredTest : public ::testing::Test {
 protected:
  StoredTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "kbench-test-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    path_ = dir_ + "/sub/client.json";
    unsetenv("KBENCH_TOKEN");
    unsetenv("KBENCH_CA");
  }
  ~StoredTest() override {
    unsetenv("KBENCH_TOKEN");
    unsetenv("KBENCH_CA");
    std::filesystem::remove_all(dir_);
  }

  std::string dir_;
  std::string path_;
};

TEST_F(StoredTest, TheLatestIsTheDefaultAndTheFileIsPrivate) {
  EXPECT_EQ(DefaultCredentials(path_)->address, "");
  ASSERT_TRUE(StoreCredentials(path_, "lab:7600", Sample().credentials).ok());
  Credentials other = Sample().credentials;
  other.token = "kbt_other";
  ASSERT_TRUE(StoreCredentials(path_, "other:7600", other).ok());
  EXPECT_EQ(DefaultCredentials(path_)->address, "other:7600");
  EXPECT_EQ(CredentialsFor("lab:7600", path_)->token, "kbt_secret");
  EXPECT_EQ(CredentialsFor("other:7600", path_)->token, "kbt_other");
  EXPECT_EQ(CredentialsFor("third:7600", path_)->token, "");
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(StoredTest, ExpiredOnesSaySoBeforeACall) {
  Credentials old = Sample().credentials;
  old.expire_seconds = SystemClock().WallMicros() / 1'000'000 - 1;
  ASSERT_TRUE(StoreCredentials(path_, "lab:7600", old).ok());
  const auto found = CredentialsFor("lab:7600", path_);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(DetailsOf(found.status()).reason, "EXPIRED_CREDENTIALS");
}

TEST_F(StoredTest, TheEnvironmentCountsFirst) {
  ASSERT_TRUE(StoreCredentials(path_, "lab:7600", Sample().credentials).ok());
  setenv("KBENCH_TOKEN", "kbt_ci", 1);
  EXPECT_EQ(CredentialsFor("lab:7600", path_)->token, "kbt_ci");
  EXPECT_EQ(CredentialsFor("lab:7600", path_)->ca, Sample().credentials.ca);
  EXPECT_TRUE(CredentialsFor("new:7600", path_)->uses_tls());
  EXPECT_EQ(CredentialsFor("new:7600", path_)->ca, "");
  // The local stack's own socket has nothing to do with the token of a lab.
  EXPECT_EQ(CredentialsFor("unix:" + DefaultSocketPath(), path_)->token, "");
  EXPECT_EQ(CredentialsFor("unix:/run/kbench/kbench.sock", path_)->token, "kbt_ci");
  setenv("KBENCH_CA", Sample().credentials.ca.c_str(), 1);
  EXPECT_EQ(CredentialsFor("new:7600", path_)->ca, Sample().credentials.ca);
  std::ofstream(dir_ + "/ca.pem") << Sample().credentials.ca;
  setenv("KBENCH_CA", (dir_ + "/ca.pem").c_str(), 1);
  EXPECT_EQ(CredentialsFor("new:7600", path_)->ca, Sample().credentials.ca);
  setenv("KBENCH_CA", (dir_ + "/none").c_str(), 1);
  EXPECT_EQ(DetailsOf(CredentialsFor("new:7600", path_).status()).reason, "BAD_CA");
}

TEST_F(StoredTest, WhatIsNoTokenIsNotSentAndNotRepeated) {
  for (const std::string& wrong : {std::string("two words"), std::string("a\r\nx: y"),
                                   std::string("\xc3\xa4secret"), ToJoinLine(Sample())}) {
    setenv("KBENCH_TOKEN", wrong.c_str(), 1);
    const auto found = CredentialsFor("lab:7600", path_);
    ASSERT_FALSE(found.ok()) << wrong;
    EXPECT_THAT(MessageOf(found.status()), Not(HasSubstr(wrong.substr(wrong.size() / 2))));
  }
}

TEST_F(StoredTest, AFileThatOthersMayReadIsRefused) {
  ASSERT_TRUE(StoreCredentials(path_, "lab:7600", Sample().credentials).ok());
  ASSERT_TRUE(CredentialsFor("lab:7600", path_).ok());
  for (const mode_t mode : {0644, 0640, 0604, 0660}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    const auto found = CredentialsFor("lab:7600", path_);
    EXPECT_EQ(DetailsOf(found.status()).reason, "CREDENTIALS_EXPOSED");
    EXPECT_THAT(MessageOf(found.status()), HasSubstr("chmod 600 " + path_));
    EXPECT_EQ(DetailsOf(DefaultCredentials(path_).status()).reason, "CREDENTIALS_EXPOSED");
  }
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_TRUE(CredentialsFor("lab:7600", path_).ok());
}

TEST_F(StoredTest, ADamagedFileIsTold) {
  std::filesystem::create_directories(dir_ + "/sub");
  std::ofstream(path_) << "{ half";
  EXPECT_EQ(DetailsOf(CredentialsFor("lab:7600", path_).status()).reason, "CREDENTIALS_UNREADABLE");
  EXPECT_EQ(DetailsOf(DefaultCredentials(path_).status()).reason, "CREDENTIALS_UNREADABLE");
}

}  // namespace
}  // namespace kbench
