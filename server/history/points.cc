#include "server/history/points.h"

#include <cmath>

#include "server/history/environment.h"

namespace kbench::history {

v1::HistoryPoint PointOf(const v1::Result& result) {
  v1::HistoryPoint point;
  point.set_result(result.name());
  *point.mutable_time() = result.create_time();
  if (result.outcome() == v1::OUTCOME_OK) {
    point.set_seconds(result.device_time().median());
    point.set_low(result.device_time().history_low());
    point.set_high(result.device_time().history_high());
  }
  switch (result.verdict()) {
    case v1::VERDICT_VALID:
      point.set_verdict("VALID");
      break;
    case v1::VERDICT_SUSPECT:
      point.set_verdict("SUSPECT");
      break;
    default:
      point.set_verdict("INVALID");
  }
  point.set_epoch(EpochId(EnvironmentOf(result)));
  return point;
}

bool IsValid(const v1::HistoryPoint& point) {
  return point.verdict() == "VALID" && std::isfinite(point.seconds()) && point.seconds() > 0;
}

double SecondsOf(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

std::string JobOfResult(const std::string& result) {
  const auto cell = result.rfind('-');
  if (cell == std::string::npos || cell == 0) return result;
  const auto index = result.rfind('-', cell - 1);
  return index == std::string::npos ? result : result.substr(0, index);
}

}  // namespace kbench::history
