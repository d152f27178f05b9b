// When rows measured before answer a case: each thing that may differ is a reason against it.
#include "server/history/reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace kbench::history {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::Device;
using kbench::v1::MeasurementPolicy;
using kbench::v1::Result;

struct State {
  State() {
    device.set_name("gpu0");
    device.set_uuid("GPU-1");
    device.set_model("H200");
    device.set_driver("580.1");
    (*device.mutable_settings())["power_limit"] = "700 W";
    for (const char* name : {"cublas", "triton"}) rows.push_back(Row(name));
  }

  Result Row(const std::string& implementation) const {
    Result row;
    row.set_implementation(implementation);
    row.set_device("gpu0");
    row.set_outcome(kbench::v1::OUTCOME_OK);
    row.set_verdict(kbench::v1::VERDICT_VALID);
    auto& environment = *row.mutable_environment();
    environment.set_device_uuid("GPU-1");
    environment.set_device_name("H200");
    environment.set_driver("580.1");
    environment.set_kbench_version("1.2.0");
    (*environment.mutable_settings())["power_limit"] = "700 W";
    (*environment.mutable_settings())["threads"] = "8";  // of the cell: the device says nothing
    return row;
  }
  std::string Why() const {
    return WhyNotReusable(rows, {implementations, policy, &device, version});
  }

  Device device;
  std::vector<Result> rows;
  std::vector<std::string> implementations = {"cublas", "triton"};
  MeasurementPolicy policy;
  std::string version = "1.2.0";
};

TEST(Reuse, TheSameIsReusable) { EXPECT_EQ(State().Why(), ""); }

TEST(Reuse, WhatDiffersIsAReason) {
  const struct {
    const char* what;
    void (*change)(State&);
    const char* says;
  } changes[] = {
      {"SUSPECT", [](State& t) { t.rows[1].set_verdict(kbench::v1::VERDICT_SUSPECT); },
       "triton was not VALID"},
      {"crashed", [](State& t) { t.rows[1].set_outcome(kbench::v1::OUTCOME_CRASHED); },
       "triton was not VALID"},
      {"a row too few", [](State& t) { t.rows.pop_back(); }, "triton did not run"},
      {"a row too many", [](State& t) { t.rows.push_back(t.Row("torch")); }, "torch ran too"},
      {"a row twice", [](State& t) { t.rows.push_back(t.Row("triton")); }, "triton ran too"},
      {"driver", [](State& t) { t.device.set_driver("590"); }, "driver was '580.1' and is '590'"},
      {"another card of the name", [](State& t) { t.device.set_uuid("GPU-2"); }, "UUID"},
      {"device", [](State& t) { t.device.set_name("gpu1"); }, "device"},
      {"model", [](State& t) { t.device.set_model("L4"); }, "model"},
      {"kbench", [](State& t) { t.version = "1.3.0"; }, "kbench version"},
      {"a setting", [](State& t) { (*t.device.mutable_settings())["power_limit"] = "600 W"; },
       "power_limit"},
      {"engine", [](State& t) { t.device.mutable_calibration()->set_engine_version("engine 9"); },
       "engine"},
      {"seed", [](State& t) { t.policy.set_seed(7); }, "seed"},
      {"flush", [](State& t) { t.policy.set_flush("none"); }, "flush"},
      {"margin", [](State& t) { t.policy.set_margin_ratio(0.05); }, "margin"},
      {"precision", [](State& t) { t.policy.set_target_ratio(0.002); }, "less precisely"},
      {"profile", [](State& t) { t.policy.set_profile(true); }, "no profile"},
      {"nothing", [](State& t) { t.rows.clear(); }, "did not run"},
  };
  for (const auto& change : changes) {
    SCOPED_TRACE(change.what);
    State state;
    change.change(state);
    EXPECT_THAT(state.Why(), ::testing::HasSubstr(change.says));
  }
}

TEST(Reuse, HigherPrecisionAndDefaultsByNameWillDo) {
  State state;
  for (Result& row : state.rows) row.mutable_policy()->set_target_ratio(0.002);
  EXPECT_EQ(state.Why(), "");
  state.policy.set_target_ratio(0.005);
  state.policy.set_flush("clean");
  state.policy.set_seed(1);
  state.policy.set_margin_ratio(0.01);
  EXPECT_EQ(state.Why(), "");
}

TEST(Reuse, AStandInAndAnUnsupportedRowCountForTheirs) {
  State state;
  state.rows[0].set_implementation("cuda/good");
  (*state.rows[0].mutable_configuration())["instead_of"] = "cuda/best";
  state.implementations = {"cuda/best", "triton"};
  EXPECT_EQ(state.Why(), "");
  state.rows[1].set_outcome(kbench::v1::OUTCOME_UNSUPPORTED);
  state.rows[1].clear_verdict();
  EXPECT_EQ(state.Why(), "");
  state.rows[0] = state.rows[1];
  state.rows[0].set_implementation("cuda/best");
  EXPECT_EQ(state.Why(), "nothing was measured");
}

CaseSpec Case() {
  CaseSpec spec;
  spec.set_kernel("sum");
  spec.set_dtype("fp32");
  spec.set_size("1Mi");
  spec.set_shape("n=1048576");
  spec.set_mode("cold");
  return spec;
}

TEST(Content, IsWhatWouldBeFoundOutNotHowItWasTyped) {
  CaseSpec typed = Case();
  typed.set_size("2^20");
  MeasurementPolicy named;
  named.set_flush("clean");
  named.set_target_ratio(0.005);
  named.mutable_case_budget()->set_seconds(60);
  EXPECT_EQ(ContentOf(Case(), {}), ContentOf(typed, named));
  EXPECT_TRUE(SameContent(Case(), {}, typed, named));
  for (const auto& change : std::vector<std::function<void(CaseSpec&, MeasurementPolicy&)>>{
           [](auto&c, auto&) { c.set_kernel("copy"); }, [](auto&c, auto&) { c.set_dtype("fp16"); },
           [](auto&c, auto&) { c.set_shape("n=1"); }, [](auto&c, auto&) { c.set_mode("hot"); },
           [](auto&, auto&p) { p.set_seed(2); }, [](auto&, auto&p) { p.set_profile(true); },
           [](auto&, auto&p) { p.set_if_busy("fail"); },
           [](auto&, auto&p) { p.mutable_case_budget()->set_nanos(5); }}) {
    CaseSpec other = Case();
    MeasurementPolicy policy;
    change(other, policy);
    EXPECT_NE(ContentOf(Case(), {}), ContentOf(other, policy));
    EXPECT_FALSE(SameContent(Case(), {}, other, policy));
  }
}

}  // namespace
}  // namespace kbench::history
