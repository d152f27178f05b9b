#include "server/auth/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/support/error.h"
#include "server/auth/caller.h"

namespace kbench::server::auth {
namespace {

constexpr Role kAll[] = {Role::kNone, Role::kViewer, Role::kSubmitter,
                         Role::kCode, Role::kWorker, Role::kAdmin};

TEST(Roles, EachMayDoWhatIsBelowIt) {
  // Rows: who; columns: what is wanted, in the order of kAll.
  const bool expected[6][6] = {
      {false, false, false, false, false, false}, {true, true, false, false, false, false},
      {true, true, true, false, false, false},    {true, true, true, true, false, false},
      {true, false, false, false, true, false},   {true, true, true, true, true, true}};
  for (int has = 0; has < 6; ++has) {
    for (int least = 0; least < 6; ++least) {
      EXPECT_EQ(Includes(kAll[has], kAll[least]), expected[has][least])
          << RoleName(kAll[has]) << " wants " << RoleName(kAll[least]);
    }
  }
}

TEST(Roles, NamesAreReadBack) {
  for (const Role role : kAll) {
    const auto parsed = ParseRole(RoleName(role), true);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, role);
  }
  for (const char* wrong : {"", "none", "Admin", "root", "admin "}) {
    const auto parsed = ParseRole(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_THAT(MessageOf(parsed.status()),
                ::testing::HasSubstr("viewer, submitter, code, worker, admin"));
  }
}

TEST(Roles, OwnersAreNames) {
  for (const char* good : {"ana", "ana.b", "Ana_B-1", "ana@lab", "7"}) {
    EXPECT_TRUE(CheckOwner(good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\nb"), std::string("a\"b"),
        std::string("-rf"), std::string("a/b"), std::string(65, 'a'), std::string("\xc3\xa4")}) {
    EXPECT_FALSE(CheckOwner(bad).ok()) << bad;
  }
}

Caller Of(const std::string& owner, Role role, bool verified) {
  Caller caller;
  caller.owner = owner;
  caller.role = role;
  caller.verified = verified;
  return caller;
}

TEST(Caller, WhoIsAuthenticatedIsThatOwnerAdminsToo) {
  EXPECT_EQ(Of("ana", Role::kSubmitter, true).OwnerOf("bo").value(), "ana");
  EXPECT_EQ(Of("ana", Role::kCode, true).OwnerOf("").value(), "ana");
  EXPECT_EQ(Of("boss", Role::kAdmin, true).OwnerOf("root").value(), "boss");
  EXPECT_EQ(Of("boss", Role::kAdmin, true).OwnerOf("").value(), "boss");
  EXPECT_EQ(Of("boss", Role::kAdmin, true).OwnerOf("no name").value(), "boss") << "not even read";
}

TEST(Caller, WhereOnlyTheCallerCanSayItsWordCountsAndIsAName) {
  Caller plain = Of("", Role::kSubmitter, false);
  plain.says_owner = true;
  EXPECT_EQ(plain.OwnerOf("bo").value(), "bo");
  EXPECT_EQ(plain.OwnerOf("").value(), "anonymous");
  Caller socket = Of("lab", Role::kAdmin, true);
  socket.says_owner = true;
  EXPECT_EQ(socket.OwnerOf("root").value(), "root");
  EXPECT_EQ(socket.OwnerOf("").value(), "lab");
  for (const std::string& bad : {std::string("a b"), std::string("-x"), std::string(65, 'a')}) {
    for (const Caller& caller : {plain, socket}) {
      const auto refused = caller.OwnerOf(bad);
      ASSERT_FALSE(refused.ok()) << bad;
      EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
      const ErrorDetails details = DetailsOf(refused.status());
      EXPECT_EQ(details.reason, "BAD_OWNER");
      ASSERT_EQ(details.violations.size(), 1u);
      EXPECT_EQ(details.violations[0].field, "owner");
    }
  }
}

TEST(Caller, OnlyTheOwnerOrAnAdminChangesAJob) {
  EXPECT_TRUE(Of("ana", Role::kSubmitter, true).CheckMayChange("ana", "cancel").ok());
  EXPECT_TRUE(Of("root", Role::kAdmin, true).CheckMayChange("ana", "cancel").ok());
  EXPECT_TRUE(Of("", Role::kSubmitter, false).CheckMayChange("ana", "cancel").ok());
  const absl::Status refused =
      Of("bo", Role::kSubmitter, true).CheckMayChange("ana", "cancel jobs/x");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(DetailsOf(refused).reason, "NOT_YOURS");
}

TEST(Caller, OutsideOfACallNobodyMayDoAnything) {
  EXPECT_EQ(CurrentCaller().role, Role::kNone);
  EXPECT_EQ(CurrentCaller().OwnerOf("ana").value(), "anonymous");
  EXPECT_FALSE(CurrentCaller().CheckMayChange("", "cancel").ok());
  const Caller ana = Of("ana", Role::kSubmitter, true);
  {
    const CallScope scope(ana);
    EXPECT_EQ(CurrentCaller().owner, "ana");
    NoteJob("jobs/x");
    NoteDevice("gpu0");
    EXPECT_EQ(scope.notes().job, "jobs/x");
    EXPECT_EQ(scope.notes().device, "gpu0");
  }
  EXPECT_EQ(CurrentCaller().owner, "");
}

}  // namespace
}  // namespace kbench::server::auth
