// Drains, quarantines and their ends, as a state machine without a clock.
#include "server/rpc/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench::server {
namespace {

using Faults = google::protobuf::RepeatedPtrField<v1::DeviceFault>;

constexpr std::int64_t kNow = 1'700'000'000'000'000;

void Add(Faults& faults, const std::string& kind, std::int64_t number) {
  v1::DeviceFault* fault = faults.Add();
  fault->set_kind(kind);
  fault->set_message("figures of " + std::to_string(number));
  fault->set_number(number);
}

v1::CanaryState Canary(int count, bool drifting = false) {
  v1::CanaryState canary;
  canary.set_count(count);
  canary.set_drifting(drifting);
  return canary;
}

// What a store would give back after these records.
store::StoredDevices Stored(const std::vector<store::DeviceChanges>& changes) {
  store::StoredDevices stored;
  for (const auto& change : changes) {
    for (const auto& record : change.maintenance) {
      std::erase_if(stored.maintenance, [&](const auto& old) {
        return old.device == record.device && old.automatic == record.automatic &&
               old.maintenance.kind() == record.maintenance.kind();
      });
      if (!record.ended) stored.maintenance.push_back(record);
    }
    for (const auto& fault : change.faults) {
      std::erase_if(stored.faults, [&](const auto& old) { return old.device == fault.device; });
      stored.faults.push_back(fault);
    }
  }
  return stored;
}

TEST(MaintenanceBook, WhatAPersonAskedForStandsUntilAPersonEndsIt) {
  MaintenanceBook book;
  EXPECT_EQ(book.Of("gpu0"), nullptr);
  EXPECT_EQ(book.Blocked("gpu0"), "");
  const auto record = book.Ask("gpu0", "drain", "new fans", "ana", kNow);
  EXPECT_FALSE(record.automatic);
  EXPECT_EQ(book.Blocked("gpu0"), "DRAINING");
  EXPECT_EQ(book.Blocked("gpu1"), "");
  EXPECT_EQ(MaintenanceText(*book.Of("gpu0")), "since 2023-11-14 22:13 UTC by ana");
  // The same again: another reason, the time of the first.
  book.Ask("gpu0", "drain", "new fans, Tuesday", "bob", kNow + 60'000'000);
  EXPECT_EQ(book.Of("gpu0")->reason(), "new fans, Tuesday");
  EXPECT_EQ(book.Of("gpu0")->since().seconds(), kNow / 1'000'000);
  book.OnCanary("gpu0", "boot", Canary(1));
  for (int i = 2; i < 9; ++i) {
    EXPECT_TRUE(book.OnCanary("gpu0", "boot", Canary(i)).stored.empty());
  }
  EXPECT_EQ(book.Blocked("gpu0"), "DRAINING") << "canaries end what kbench began";
  EXPECT_EQ(book.End("gpu0", "").size(), 1u);
  EXPECT_EQ(book.Blocked("gpu0"), "");
  EXPECT_TRUE(book.End("gpu0", "").empty());
}

TEST(MaintenanceBook, ADrainAndAQuarantineAreTwoFacts) {
  MaintenanceBook book;
  store::DeviceChanges asked;
  asked.maintenance.push_back(book.Ask("gpu0", "quarantine", "looks odd", "ana", kNow));
  asked.maintenance.push_back(book.Ask("gpu0", "drain", "new fans", "bo", kNow));
  EXPECT_EQ(book.Blocked("gpu0"), "QUARANTINED") << "the doubt counts before the fans";
  EXPECT_EQ(book.TextOf("gpu0"),
            "looks odd (since 2023-11-14 22:13 UTC by ana); drained too: new fans (since "
            "2023-11-14 22:13 UTC by bo)");
  MaintenanceBook after;
  after.Restore(Stored({asked}));
  EXPECT_EQ(after.TextOf("gpu0"), book.TextOf("gpu0"));
  // The end of the drain leaves the quarantine, also after another restart.
  store::DeviceChanges resumed;
  resumed.maintenance = after.End("gpu0", "");
  ASSERT_EQ(resumed.maintenance.size(), 1u);
  EXPECT_EQ(resumed.maintenance[0].maintenance.kind(), "drain");
  after.Restore(Stored({asked, resumed}));
  EXPECT_EQ(after.Blocked("gpu0"), "QUARANTINED");
  EXPECT_EQ(after.Of("gpu0")->reason(), "looks odd");
  EXPECT_EQ(after.End("gpu0", "drain").size(), 0u) << "there is none any more";
  EXPECT_EQ(after.End("gpu0", "").size(), 1u) << "what is left is what was meant";
  EXPECT_EQ(after.Blocked("gpu0"), "");
}

TEST(MaintenanceBook, OnlyWhatIsNamedEnds) {
  MaintenanceBook book;
  Faults faults;
  Add(faults, "ECC", 1);
  book.OnFaults("gpu0", "boot", faults, kNow);
  book.Ask("gpu0", "quarantine", "looks odd", "ana", kNow);
  book.Ask("gpu0", "drain", "new fans", "ana", kNow);
  EXPECT_EQ(book.End("gpu0", "quarantine").size(), 2u) << "a person's and kbench's";
  EXPECT_EQ(book.Blocked("gpu0"), "DRAINING");
  book.Ask("gpu0", "quarantine", "looks odd", "ana", kNow);
  EXPECT_EQ(book.End("gpu0", "all").size(), 2u);
  EXPECT_EQ(book.Of("gpu0"), nullptr);
}

TEST(MaintenanceBook, AFaultIsActedUponOnceAlsoAfterARestart) {
  MaintenanceBook book;
  Faults faults;
  Add(faults, "XID", 1);
  Add(faults, "FUNNY", 2);
  const auto first = book.OnFaults("gpu0", "boot1", faults, kNow);
  EXPECT_THAT(first.quarantined, ::testing::ElementsAre("XID"));
  EXPECT_EQ(book.Blocked("gpu0"), "QUARANTINED");
  EXPECT_EQ(book.FaultOf("gpu0"), "XID");
  EXPECT_EQ(book.Of("gpu0")->reason(), "XID: figures of 1");
  EXPECT_EQ(book.Of("gpu0")->by(), "kbench");
  EXPECT_TRUE(book.OnFaults("gpu0", "boot1", faults, kNow).stored.empty());
  store::DeviceChanges ended;
  ended.maintenance = book.End("gpu0", "");
  const store::StoredDevices stored = Stored({first.stored, ended});
  EXPECT_TRUE(stored.maintenance.empty());

  MaintenanceBook after;
  after.Restore(stored);
  EXPECT_TRUE(after.OnFaults("gpu0", "boot1", faults, kNow).stored.empty())
      << "a person has resumed the device after this fault";
  Add(faults, "ECC", 3);
  EXPECT_THAT(after.OnFaults("gpu0", "boot1", faults, kNow).quarantined,
              ::testing::ElementsAre("ECC"));
  after.End("gpu0", "");
  // Another boot counts from one again.
  Faults anew;
  Add(anew, "WRONG_RESULTS", 1);
  EXPECT_THAT(after.OnFaults("gpu0", "boot2", anew, kNow).quarantined,
              ::testing::ElementsAre("WRONG_RESULTS"));
}

TEST(MaintenanceBook, ThreeGoodCanariesInARowEndWhatKbenchBegan) {
  MaintenanceBook book;
  book.OnCanary("gpu0", "boot", Canary(4));
  Faults faults;
  Add(faults, "ECC", 1);
  book.OnFaults("gpu0", "boot", faults, kNow);
  EXPECT_TRUE(book.OnCanary("gpu0", "boot", Canary(4)).stored.empty()) << "flown before";
  book.OnCanary("gpu0", "boot", Canary(5));
  EXPECT_TRUE(book.OnCanary("gpu0", "boot", Canary(5)).stored.empty()) << "told twice";
  book.OnCanary("gpu0", "boot", Canary(6));
  EXPECT_EQ(book.Of("gpu0")->good_canaries(), 2);
  book.OnCanary("gpu0", "boot", Canary(7, true));
  EXPECT_EQ(book.Of("gpu0")->good_canaries(), 0) << "in a row";
  // A person's own quarantine stands beside it, and stays.
  book.Ask("gpu0", "quarantine", "looks odd", "ana", kNow);
  EXPECT_EQ(book.FaultOf("gpu0"), "");
  for (int i = 8; i < 10; ++i) {
    EXPECT_FALSE(book.OnCanary("gpu0", "boot", Canary(i)).released);
  }
  const auto last = book.OnCanary("gpu0", "boot", Canary(10));
  EXPECT_TRUE(last.released);
  ASSERT_EQ(last.stored.maintenance.size(), 1u);
  EXPECT_TRUE(last.stored.maintenance[0].automatic);
  EXPECT_EQ(book.Blocked("gpu0"), "QUARANTINED");
  EXPECT_EQ(book.Of("gpu0")->reason(), "looks odd");
}

TEST(MaintenanceBook, ARestartKeepsTheCanariesThatWereCounted) {
  MaintenanceBook book;
  Faults faults;
  Add(faults, "ECC", 1);
  const auto began = book.OnFaults("gpu0", "boot", faults, kNow);
  book.OnCanary("gpu0", "boot", Canary(0));
  const auto one = book.OnCanary("gpu0", "boot", Canary(1));
  MaintenanceBook after;
  after.Restore(Stored({began.stored, one.stored}));
  EXPECT_EQ(after.Of("gpu0")->good_canaries(), 1);
  EXPECT_TRUE(after.OnCanary("gpu0", "boot", Canary(1)).stored.empty());
  after.OnCanary("gpu0", "boot", Canary(2));
  EXPECT_TRUE(after.OnCanary("gpu0", "boot", Canary(3)).released);
  // A new fault starts the count anew.
  Add(faults, "XID", 2);
  after.OnFaults("gpu0", "boot", faults, kNow);
  EXPECT_EQ(after.Of("gpu0")->good_canaries(), 0);
}

}  // namespace
}  // namespace kbench::server
