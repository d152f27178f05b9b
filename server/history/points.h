// Results as points of a cell's history. Pure; thread-safe.
#pragma once

#include <string>

#include "google/protobuf/timestamp.pb.h"
#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::history {

// Without a time (outcome not OK) `seconds` is 0, and the point counts nowhere.
v1::HistoryPoint PointOf(const v1::Result& result);

bool IsValid(const v1::HistoryPoint& point);  // VALID, and its time is a positive number

double SecondsOf(const google::protobuf::Timestamp& time);  // since the epoch

// The job of "results/<job>-<case>-<cell>"; the whole name where it has another form. Results of
// one job are no fresh sessions of each other: their runners may be the same processes.
std::string JobOfResult(const std::string& result);

}  // namespace kbench::history
