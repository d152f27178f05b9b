// The verbs that concern devices: devices, default, drain, quarantine, resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using testing::FakeCoordinator;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Parse;

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

class DeviceVerbs : public ::testing::Test {
 protected:
  Ran Run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    Io io{out, err, false};
    Interrupt interrupt;
    const int code = fake_.Run(arguments, io, interrupt);
    return {code, out.str(), err.str()};
  }

  FakeCoordinator fake_;
};

TEST_F(DeviceVerbs, DevicesMarksTheDefaultAndTellsLabelsCanaryAndMaintenance) {
  fake_.devices.devices = Parse<kbench::v1::ListDevicesResponse>(R"(
    devices { name: "gpu0" kind: "cuda" state: "QUARANTINED" model: "NVIDIA H200" uuid: "GPU-1"
              state_message: "XID: Xid 79 (since 2026-11-30 20:00 UTC, kbench"
              maintenance { kind: "quarantine" good_canaries: 2 }
              labels { key: "rack" value: "a" } labels {
  key:
    "pool" value : "big" }
}
devices {
name:
  "gpu1" kind : "cuda" state : "READY" model : "NVIDIA H200" canary {
  ratio:
    1.08 drifting : true count : 9 message : "the canary takes 8 % longer than it used to"
  }
}
    default_device: "gpu1" default_is_owners: true)");
  const Ran plain = Run({"devices"});
  EXPECT_EQ(plain.code, 0);
  EXPECT_THAT(plain.out,
              AllOf(HasSubstr("\ngpu0    QUARANTINED"), HasSubstr("\ngpu1 *  READY"),
                    HasSubstr("\n* your default: gpu1\n"), HasSubstr("gpu0: XID: Xid 79 (since"),
                    HasSubstr("gpu1: the canary takes 8 % longer than it used to"),
                    Not(HasSubstr("labels"))));
  EXPECT_EQ(fake_.devices.owner, "ana");
  EXPECT_THAT(Run({"devices", "-v"}).out,
              AllOf(HasSubstr("  labels: pool=big, rack=a\n"), HasSubstr("  UUID GPU-1\n"),
                    HasSubstr("good canaries since the quarantine began: 2 of 3"),
                    HasSubstr("newest canary: 1.08x of its usual time, it drifts")));
  EXPECT_THAT(Run({"devices", "-o", "json"}).out,
              AllOf(HasSubstr("\n{\"default\":{"), HasSubstr("\"device\":\"gpu1\""),
                    HasSubstr("\"own\":true")));
}

TEST_F(DeviceVerbs, DefaultIsSetForOneselfOrForEverybody) {
  fake_.devices.devices.set_default_device("model=H200");
  const Ran own = Run({"default", "model=H200"});
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_EQ(own.out, "the default for everybody: model=H200\n");
  ASSERT_EQ(fake_.admin.defaults.size(), 1u);
  EXPECT_EQ(fake_.admin.defaults[0].device(), "model=H200");
  EXPECT_EQ(fake_.admin.defaults[0].owner(), "ana");
  EXPECT_EQ(Run({"default", "gpu0", "--for-everybody"}).code, 0);
  EXPECT_EQ(fake_.admin.defaults[1].owner(), "");
  fake_.devices.devices.clear_default_device();
  const Ran cleared = Run({"default", "--clear"});
  EXPECT_EQ(fake_.admin.defaults[2].device(), "");
  EXPECT_THAT(cleared.out, HasSubstr("no default is set"));
  EXPECT_EQ(Run({"default"}).code, 0);
  EXPECT_EQ(fake_.admin.defaults.size(), 3u) << "without a device it only shows";
  EXPECT_EQ(Run({"default", "gpu0", "--clear"}).code, 2);
  EXPECT_EQ(Run({"default", "--for-everybody"}).code, 2);
  EXPECT_EQ(fake_.admin.defaults.size(), 3u);
  fake_.admin.status = MakeError(absl::StatusCode::kFailedPrecondition, "there is no device gpu9",
                                 {.reason = "UNKNOWN_DEVICE"});
  EXPECT_EQ(Run({"default", "gpu9"}).err, "kbench-client: there is no device gpu9\n");
}

TEST_F(DeviceVerbs, DrainQuarantineAndResume) {
  fake_.admin.device = Parse<kbench::v1::Device>(
      R"(name: "gpu0" state: "DRAINING" state_message: "new fans since noon, by ana")");
  const Ran drained = Run({"drain", "gpu0", "--reason", "new fans"});
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_EQ(drained.out, "gpu0: DRAINING, new fans since noon, by ana\n");
  ASSERT_EQ(fake_.admin.drained.size(), 1u);
  EXPECT_EQ(fake_.admin.drained[0].reason(), "new fans");
  EXPECT_EQ(fake_.admin.drained[0].owner(), "ana");
  EXPECT_EQ(Run({"quarantine", "gpu0", "--reason", "odd numbers"}).code, 0);
  ASSERT_EQ(fake_.admin.quarantined.size(), 1u);
  fake_.admin.device = Parse<kbench::v1::Device>(R"(name: "gpu0" state: "READY")");
  EXPECT_EQ(Run({"resume", "gpu0"}).out, "gpu0: READY\n");
  ASSERT_EQ(fake_.admin.resumed.size(), 1u);
  EXPECT_EQ(fake_.admin.resumed[0].kind(), "");
  for (const char* verb : {"drain", "quarantine"}) {
    const Ran ran = Run({verb, "gpu0"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, AllOf(HasSubstr(verb), HasSubstr("give --reason TEXT")));
  }
  EXPECT_EQ(Run({"resume", "gpu0", "--reason", "x"}).code, 2);
  EXPECT_EQ(fake_.admin.drained.size(), 1u);
}

TEST_F(DeviceVerbs, ResumeSaysWhatStandsAllTheSame) {
  fake_.admin.device = Parse<kbench::v1::Device>(
      R"(name: "gpu0" state: "QUARANTINED" state_message: "looks odd, since noon by ana"
         maintenance { kind: "quarantine" reason: "looks odd" by: "ana" })");
  const Ran resumed = Run({"resume", "gpu0"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, AllOf(HasSubstr("gpu0: QUARANTINED, looks odd"),
                                 HasSubstr("its quarantine stands (looks odd)"),
                                 HasSubstr("kbench-client resume gpu0 --end quarantine")));
  EXPECT_EQ(Run({"resume", "gpu0", "--end", "quarantine"}).code, 0);
  EXPECT_EQ(fake_.admin.resumed.back().kind(), "quarantine");
  EXPECT_EQ(Run({"resume", "gpu0", "--end", "both"}).code, 2);
}

TEST_F(DeviceVerbs, WhatWasSetForEverybodyIsShownBesideOnesOwn) {
  fake_.devices.devices.set_default_device("cpu");
  fake_.devices.devices.set_default_is_owners(true);
  fake_.devices.devices.set_everybodys_default("model=AMD");
  const Ran set = Run({"default", "model=AMD", "--for-everybody"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(set.out, "your default: cpu\nthe default for everybody who has none: model=AMD\n");
  fake_.devices.devices.clear_everybodys_default();
  EXPECT_EQ(Run({"default", "--clear", "--for-everybody"}).out,
            "your default: cpu\nno default is set for everybody who has none\n");
  EXPECT_EQ(Run({"default"}).out, "your default: cpu\n");
}

}  // namespace
}  // namespace kbench::client
