// Where and when the rows of a report were measured. Pure; thread-safe.
#pragma once

#include <string>

#include "client/report/document.h"
#include "client/report/model.h"
#include "client/report/roi_document.h"

namespace kbench::client {

// "NVIDIA H200"; its stable name where no row tells the model.
std::string DeviceText(const Evidence& evidence);
// "2026-11-30 20:14 UTC", or from one to another; empty where no row tells.
std::string WhenText(const Evidence& evidence);
ReportSection EnvironmentSection(const RoiModel& model, const RoiSource& source);

}  // namespace kbench::client
