// The tables of the report about abstractions. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/report/document.h"
#include "client/report/model.h"

namespace kbench::client {

ReportTable ClaimTable(const RoiModel& model);       // the four regimes
ReportTable BoundaryTable(const RoiModel& model);    // where they lie
ReportTable LaunchEndTable(const RoiModel& model);   // of each implementation's launch
ReportTable FigureTable(const RoiModel& model);      // the essay's values beside ours
ReportTable EssayRatioTable(const RoiModel& model);  // and its ratios
ReportTable SeriesTable(const RoiModel& model, const SeriesRegimes& regimes);
ReportTable LaunchTable(const RoiModel& model);
ReportTable LaunchPathTable(const std::vector<Price>& prices);
ReportTable GeneratorTable(const std::vector<Price>& prices);
ReportTable ShareTable(const RoiModel& model);  // of peak and roof, at the largest size
ReportTable TruncationTable(const std::vector<Truncation>& rows);
ReportTable CodeTable(const RoiModel& model);       // lines of code of what ran
ReportTable CompileTable(const RoiModel& model);    // rows of what compiled or tuned
ReportTable ExceptionTable(const RoiModel& model);  // rows that are not OK and VALID, and why
ReportTable RowTable(const RoiModel& model);        // all rows

}  // namespace kbench::client
