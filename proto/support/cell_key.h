// The cell, a row of the dashboard, that a result belongs to. A mode that was not named is cold.
// Pure; thread-safe.
#pragma once

#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench {

v1::CellKey CellOf(const v1::Result& result);

}  // namespace kbench
