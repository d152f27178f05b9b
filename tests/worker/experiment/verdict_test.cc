#include "worker/experiment/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>

namespace kbench::experiment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CellRecord Steady(int rounds, int samples = 10) {
  CellRecord record;
  for (int r = 0; r < rounds; ++r) {
    RoundRecord round;
    round.round = r;
    for (int i = 0; i < samples; ++i) {
      round.device_seconds.push_back(1e-3 * (1 + 1e-4 * ((i * 7 + r * 3) % 11)));
    }
    record.Add(round);
  }
  return record;
}

VerdictInput Converged() {
  VerdictInput input;
  input.stop = StopState::kConverged;
  input.l2_bytes = 50 << 20;
  input.rates.set_bytes(1e9);
  input.rates.set_peak_bandwidth_ratio(0.9);
  input.rates.set_peak_flops_ratio(0.1);
  return input;
}

TEST(Verdict, ConvergedIsValid) {
  const auto judgement = Judge(Steady(8), Converged());
  EXPECT_EQ(judgement.verdict, v1::VERDICT_VALID);
  EXPECT_THAT(judgement.reasons, IsEmpty());
  EXPECT_EQ(judgement.explanation, "");
}

struct Row {
  std::string reason;
  v1::Verdict verdict;
  std::function<void(CellRecord&, VerdictInput&)> change;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.reason; }

class VerdictTable : public testing::TestWithParam<Row> {};

TEST_P(VerdictTable, OneCauseOneReason) {
  CellRecord record = Steady(12);
  VerdictInput input = Converged();
  GetParam().change(record, input);
  const auto judgement = Judge(record, input);
  EXPECT_EQ(judgement.verdict, GetParam().verdict);
  EXPECT_THAT(judgement.reasons, ElementsAre(GetParam().reason));
  EXPECT_EQ(judgement.explanation.empty(), GetParam().verdict == v1::VERDICT_VALID);
}

void TwoModes(CellRecord& record, VerdictInput&) {
  for (RoundRecord& round : record.rounds) {
    for (const std::size_t i : {2u, 7u}) round.device_seconds[i] *= 1.2;
  }
}

void FlagAll(CellRecord& record, const std::string& flag) {
  for (RoundRecord& round : record.rounds) round.flags = {flag};
}

const std::vector<Row> kTable = {
    {"NOT_CONVERGED", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) { in.stop = StopState::kExhausted; }},
    {"FEW_ROUNDS", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) { record = Steady(5); }},
    {"NO_SAMPLES", v1::VERDICT_INVALID,
     [](CellRecord& record, VerdictInput&) { record = CellRecord{}; }},
    {"RESOLUTION_LIMITED", v1::VERDICT_VALID,
     [](CellRecord&, VerdictInput& in) { in.stop = StopState::kResolutionLimited; }},
    {"NOISY", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) {
       for (RoundRecord& round : record.rounds) {
         for (std::size_t i = 0; i < round.device_seconds.size(); ++i) {
           round.device_seconds[i] =
               1e-3 * (1 + 0.05 * static_cast<double>(i * 3 % 10) + 0.004 * round.round);
         }
       }
     }},
    {"DRIFTING", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) {
       for (RoundRecord& round : record.rounds) round.median *= 1 + 0.01 * round.round;
     }},
    {"BIMODAL", v1::VERDICT_SUSPECT, TwoModes},
    {"HOST_STALL", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) { FlagAll(record, "HOST_STALL"); }},
    {"HOST_STALL", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) { FlagAll(record, "BLOCKER_TIMEOUT"); }},
    {"HOST_STALL", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) { record.rounds[0].discarded_samples = 60; }},
    {"SIDE_STREAM", v1::VERDICT_SUSPECT,  // one is enough: the number may miss a part of the work
     [](CellRecord& record, VerdictInput&) { record.rounds[3].flags = {"SIDE_STREAM"}; }},
    {"CLOCK_CHANGED", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) {
       for (int i = 0; i < 4; ++i) record.rounds[8 + i].flags = {"CLOCK_CHANGED"};
     }},
    {"FASTER_THAN_ROOF", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) {
       in.shared_roofs = true;
       in.rates.set_roof_flops_ratio(1.5);
     }},
    {"FASTER_THAN_ROOF", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) {
       in.shared_roofs = true;
       in.rates.set_roof_bandwidth_ratio(1.2);
     }},
    {"MIGRATED", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) { FlagAll(record, "MIGRATED"); }},
    {"CPU_STEAL", v1::VERDICT_SUSPECT,
     [](CellRecord& record, VerdictInput&) { FlagAll(record, "STOLEN"); }},
    {"CPU_STEAL", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) { in.telemetry.set_steal_ratio(0.1); }},
    {"THROTTLED_HW_THERMAL", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) {
       in.telemetry.add_throttle_reasons("HW_THERMAL");
       in.rounds_lost_to_heat = true;
     }},
    {"THROTTLED_ROUNDS", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) { in.rounds_lost_to_heat = true; }},
    {"POWER_LIMITED", v1::VERDICT_VALID,
     [](CellRecord&, VerdictInput& in) { in.telemetry.add_throttle_reasons("POWER_CAP"); }},
    {"THROTTLED_SW_THERMAL", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) {
       (*in.telemetry.mutable_throttle_seconds())["SW_THERMAL"] = 0.004;
     }},
    {"POWER_LIMITED", v1::VERDICT_VALID,
     [](CellRecord&, VerdictInput& in) {
       in.telemetry.add_throttle_reasons("POWER_CAP");
       (*in.telemetry.mutable_throttle_seconds())["POWER_CAP"] = 0.2;
       (*in.telemetry.mutable_throttle_seconds())["HW_THERMAL"] = 0;
     }},
    {"FOREIGN_IDLE", v1::VERDICT_VALID,
     [](CellRecord&, VerdictInput& in) {
       in.telemetry.set_foreign_processes(1);
       in.telemetry.set_foreign_utilization(0.009);
     }},
    {"FOREIGN_PROCESS", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) {
       in.telemetry.set_foreign_processes(1);
       in.telemetry.set_foreign_utilization(0.01);
     }},
    {"FOREIGN_PROCESS", v1::VERDICT_SUSPECT,  // gone before it was listed
     [](CellRecord&, VerdictInput& in) { in.telemetry.set_foreign_utilization(0.3); }},
    {"FOREIGN_PROCESS", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) {
       in.telemetry.set_foreign_processes(1);
       in.telemetry.set_foreign_utilization(-1);
     }},
    {"MIG_SIBLINGS", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) { in.telemetry.set_busy_mig_siblings(2); }},
    {"ECC_ERROR", v1::VERDICT_INVALID,
     [](CellRecord&, VerdictInput& in) { in.telemetry.set_ecc_errors(1); }},
    {"FASTER_THAN_ROOF", v1::VERDICT_INVALID,
     [](CellRecord&, VerdictInput& in) { in.rates.set_roof_flops_ratio(1.06); }},
    {"FASTER_THAN_ROOF", v1::VERDICT_INVALID,
     [](CellRecord&, VerdictInput& in) { in.rates.set_roof_bandwidth_ratio(1.2); }},
    {"AUTOCORRELATED", v1::VERDICT_VALID,
     [](CellRecord& record, VerdictInput&) {
       for (RoundRecord& round : record.rounds) {
         std::sort(round.device_seconds.begin(), round.device_seconds.end());
       }
     }},
    {"FASTER_THAN_PEAK", v1::VERDICT_INVALID,
     [](CellRecord&, VerdictInput& in) { in.rates.set_peak_flops_ratio(1.3); }},
    {"FASTER_THAN_PEAK", v1::VERDICT_INVALID,
     [](CellRecord&, VerdictInput& in) { in.rates.set_peak_bandwidth_ratio(1.1); }},
    {"NOT_REVERIFIED", v1::VERDICT_SUSPECT,
     [](CellRecord&, VerdictInput& in) { in.reverified = false; }},
    {"GROUPED", v1::VERDICT_VALID, [](CellRecord&, VerdictInput& in) { in.grouped = true; }},
};
INSTANTIATE_TEST_SUITE_P(Reasons, VerdictTable, testing::ValuesIn(kTable));

TEST(Verdict, AtThePowerLimitTheClockMakesTwoModes) {
  CellRecord record = Steady(12);
  VerdictInput input = Converged();
  TwoModes(record, input);
  input.telemetry.add_throttle_reasons("POWER_CAP");
  const auto judgement = Judge(record, input);
  EXPECT_EQ(judgement.verdict, v1::VERDICT_VALID);
  EXPECT_THAT(judgement.reasons, ElementsAre("BIMODAL", "POWER_LIMITED"));
}

TEST(Verdict, TrafficThatFitsTheCacheMayExceedMemoryBandwidth) {
  VerdictInput input = Converged();
  input.rates.set_peak_bandwidth_ratio(2);
  input.rates.set_bytes(1e6);
  EXPECT_EQ(Judge(Steady(8), input).verdict, v1::VERDICT_VALID);
  input.rates.set_bytes(1e9);
  input.cold = false;
  EXPECT_EQ(Judge(Steady(8), input).verdict, v1::VERDICT_VALID);
}

TEST(Verdict, OnlyTrafficBeyondTheCacheCountsAgainstARoof) {
  VerdictInput input = Converged();
  input.rates.set_roof_bandwidth_ratio(1.3);
  input.rates.set_bytes(4.0 * (50 << 20));  // three quarters of it lie beyond: 0.975 of the roof
  EXPECT_EQ(Judge(Steady(8), input).verdict, v1::VERDICT_VALID);
  input.rates.set_bytes(8.0 * (50 << 20));  // 1.1375
  EXPECT_EQ(Judge(Steady(8), input).verdict, v1::VERDICT_INVALID);
  input.cold = false;
  EXPECT_EQ(Judge(Steady(8), input).verdict, v1::VERDICT_VALID);
}

TEST(Verdict, AMeasuredRoofOutranksTheDatasheetsBandwidth) {
  VerdictInput input = Converged();
  input.rates.set_peak_bandwidth_ratio(1.1);  // a card better than its datasheet
  input.rates.set_roof_bandwidth_ratio(0.99);
  EXPECT_EQ(Judge(Steady(8), input).verdict, v1::VERDICT_VALID);
}

TEST(Verdict, AnEmptyDeviceIsNotSuspectWhereUtilisationIsUnknown) {
  VerdictInput input = Converged();
  input.telemetry.set_foreign_utilization(-1);
  EXPECT_THAT(Judge(Steady(8), input).reasons, IsEmpty());
}

TEST(Verdict, AFewRoundsAtAnotherClockDoNotMoveTheMedian) {
  CellRecord record = Steady(12);
  for (int i = 0; i < 3; ++i) record.rounds[i].flags = {"CLOCK_CHANGED"};
  EXPECT_THAT(Judge(record, Converged()).reasons, IsEmpty());
}

TEST(Verdict, InvalidOutweighsSuspect) {
  VerdictInput input = Converged();
  input.rates.set_peak_flops_ratio(2);
  input.stop = StopState::kExhausted;
  const auto judgement = Judge(Steady(8), input);
  EXPECT_EQ(judgement.verdict, v1::VERDICT_INVALID);
  EXPECT_THAT(judgement.reasons, ElementsAre("FASTER_THAN_PEAK", "NOT_CONVERGED"));
}

TEST(FateOfRound, HeatDiscardsPowerCapKeeps) {
  v1::Telemetry telemetry;
  EXPECT_EQ(FateOfRound(telemetry), RoundFate::kKeep);
  telemetry.add_throttle_reasons("POWER_CAP");
  EXPECT_EQ(FateOfRound(telemetry), RoundFate::kKeep);
  telemetry.add_throttle_reasons("SW_THERMAL");
  EXPECT_EQ(FateOfRound(telemetry), RoundFate::kDiscard);

  v1::Telemetry counted;  // too short for the sampled bits
  (*counted.mutable_throttle_seconds())["HW_THERMAL"] = 0;
  EXPECT_EQ(FateOfRound(counted), RoundFate::kKeep);
  (*counted.mutable_throttle_seconds())["HW_THERMAL"] = 0.001;
  EXPECT_EQ(FateOfRound(counted), RoundFate::kDiscard);
}

}  // namespace
}  // namespace kbench::experiment
